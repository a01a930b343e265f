import type { v2 } from '@reeve/contract'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { RelativeTime } from '../../parts/ago.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateFromText } from '../../parts/time.ts'
import { decodeText } from './use-code.ts'

interface VersionsPaneProps {
  readonly policy: v2.RunPolicy
  readonly onCode: (code: string) => void
}

/** The latest uploaded versions of the code. */
export function VersionsPane({ policy, onCode }: VersionsPaneProps) {
  const callApi = useApiAction()
  const openVersion = async (version: string) => {
    const reply = await callApi({
      call: (api) =>
        api.v2.downloadPolicy({ params: { policy_id: policy.id }, query: { version } }),
      successMessage: 'The editor shows this version. Save activates it.',
    })
    if (reply !== undefined) onCode(decodeText(reply.data))
  }
  const versions = useApiQuery(
    ['policy-versions', policy.id],
    (api, signal) => api.v2.listPolicyVersions({ params: { policy_id: policy.id }, signal }),
    { watches: [{ topic: 'Policy' }] },
  )
  return (
    <Panel title="Uploads">
      <QueryView query={versions} what="the versions">
        {({ data }) =>
          data.length === 0 ? (
            <p className="quiet">No uploads yet.</p>
          ) : (
            <ol className="verdicts">
              {data.map(({ id, attributes }) => (
                <li key={id} className="row">
                  <RelativeTime date={dateFromText(attributes['created-at'])} />
                  <span>{attributes['code-size']} bytes</span>
                  <code title={attributes['code-sha256']}>
                    {attributes['code-sha256'].slice(0, 12)}
                  </code>
                  {attributes['code-sha256'] === policy.attributes['code-sha256'] && (
                    <span className="tag">in force</span>
                  )}
                  <ActionButton onAction={() => openVersion(id)}>Open in the editor</ActionButton>
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}
