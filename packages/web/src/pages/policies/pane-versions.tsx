import type { v2 } from '@reeve/contract'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateOfText } from '../../parts/time.ts'
import { textOf } from './use-code.ts'

interface VersionsPaneProps {
  readonly policy: v2.RunPolicy
  readonly onCode: (code: string) => void
}

/** The latest uploads of the code. */
export function VersionsPane({ policy, onCode }: VersionsPaneProps) {
  const act = useAct()
  const take = async (version: string) => {
    const reply = await act({
      call: (api) =>
        api.v2.downloadPolicy({ params: { policy_id: policy.id }, query: { version } }),
      done: 'The editor shows this version. Save activates it.',
    })
    if (reply !== undefined) onCode(textOf(reply.data))
  }
  const versions = useRead(
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
                  <Ago date={dateOfText(attributes['created-at'])} />
                  <span>{attributes['code-size']} bytes</span>
                  <code title={attributes['code-sha256']}>
                    {attributes['code-sha256'].slice(0, 12)}
                  </code>
                  {attributes['code-sha256'] === policy.attributes['code-sha256'] && (
                    <span className="tag">in force</span>
                  )}
                  <ActionButton onAct={() => take(id)}>Open in the editor</ActionButton>
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}
