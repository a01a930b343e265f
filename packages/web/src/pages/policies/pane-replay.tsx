import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import { organizationDisabledReason } from '../../actions/governance-can.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { RelativeTime } from '../../parts/ago.tsx'
import { ErrorMessage } from '../../parts/failure.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import { failingLines } from './pane-try.tsx'
import type { PaneProps } from './pane-props.ts'

const PAGE_SIZE = 50

interface ReplayState {
  readonly results: readonly v2.ReplayedSubject[]
  readonly cursor: string | null
}

/** Evaluates the code in the editor against past runs and job registrations. */
export function ReplayPane(props: PaneProps) {
  const { organization, policy, code, isChanged, onFailingLines } = props
  const { api } = useSession()
  const [replayed, setReplayed] = useState<ReplayState>()
  const [error, setError] = useState<unknown>()
  const disabledReason = organizationDisabledReason.updatePolicies(organization)
  const loadPage = async (previous: ReplayState | undefined) => {
    const attributes = {
      ...(isChanged ? { code } : {}),
      limit: PAGE_SIZE,
      cursor: previous?.cursor ?? null,
    }
    const body = { data: { type: 'policy-replays' as const, attributes } }
    try {
      const { data } = await api.v2.replayPolicy({ params: { policy_id: policy.id }, body })
      const page = data.data.attributes
      const results = [...(previous?.results ?? []), ...page.results]
      setError(undefined)
      setReplayed({ results, cursor: page['next-cursor'] })
      onFailingLines(failingLines(results.flatMap(({ findings }) => findings)))
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Panel
      title="Replay on history"
      actions={
        <ActionButton
          kind="primary"
          disabledReason={disabledReason}
          onAction={() => loadPage(undefined)}
        >
          Replay
        </ActionButton>
      }
    >
      <div className="stack">
        {replayed === undefined && (
          <p className="quiet">
            Evaluates the code in the editor against recent runs and job registrations.
          </p>
        )}
        {error !== undefined && <ErrorMessage error={error} />}
        {replayed !== undefined && (
          <ReplayResults organization={organization.id} replayed={replayed} />
        )}
        {replayed !== undefined && replayed.cursor !== null && (
          <div>
            <ActionButton disabledReason={disabledReason} onAction={() => loadPage(replayed)}>
              Load more
            </ActionButton>
          </div>
        )}
      </div>
    </Panel>
  )
}

interface ResultsProps {
  readonly organization: string
  readonly replayed: ReplayState
}

function ReplayResults({ organization, replayed: { results } }: ResultsProps) {
  const denied = results.filter((one) => one['would-deny']).length
  const failed = results.filter(({ status }) => status !== 'passed')
  const skipReasons = results.flatMap(({ skipped }) => skipped ?? [])
  return (
    <div role="status" className="stack">
      <p>
        {results.length - skipReasons.length} evaluated, {failed.length} failed,{' '}
        <strong>{denied} would be denied</strong>.
      </p>
      {skipReasons.length > 0 && (
        <p className="quiet">
          {skipReasons.length} skipped: {[...new Set(skipReasons)].join(', ')}.
        </p>
      )}
      <ul className="verdicts">
        {failed.map((one) => (
          <li key={`${one.type}/${one.id}/${one.version ?? ''}/${one['created-at'] ?? ''}`}>
            <div className="row">
              <StatusBadge
                state={one['would-deny'] ? 'denied' : one.status}
                text={one['would-deny'] ? 'would deny' : one.status}
              />
              <Link href={subjectHref(organization, one)}>{one.id}</Link>
              {one.version !== null && <span className="tag">version {one.version}</span>}
              <RelativeTime date={dateFromText(one['created-at'])} />
            </div>
            {one.findings.map(({ line, message }) => (
              <p key={`${line}:${message}`}>
                {message}
                {line !== null && <small> line {line}</small>}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Job subjects have the ID `NAMESPACE/JOB`; job IDs may contain slashes. */
function subjectHref(organization: string, { type, id }: v2.ReplayedSubject): string {
  if (type === 'runs') return paths.run(organization, id)
  const [namespace = 'default', ...rest] = id.split('/')
  return paths.job({ namespace, id: rest.join('/') })
}
