import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { Failure } from '../../parts/failure.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import { linesOf } from './pane-try.tsx'
import type { PaneProps } from './pane-props.ts'

const PAGE = 50

interface Judged {
  readonly results: readonly v2.ReplayedSubject[]
  readonly cursor: string | null
}

/** What the policy, as it is in the editor, would have said of what has happened. */
export function ReplayPane(props: PaneProps) {
  const { organization, policy, code, isChanged, onFailing } = props
  const { api } = useSession()
  const [judged, setJudged] = useState<Judged>()
  const [error, setError] = useState<unknown>()
  const refusal = organizationCan.updatePolicies(organization)
  const replay = async (before: Judged | undefined) => {
    const attributes = {
      ...(isChanged ? { code } : {}),
      limit: PAGE,
      cursor: before?.cursor ?? null,
    }
    const body = { data: { type: 'policy-replays' as const, attributes } }
    try {
      const { data } = await api.v2.replayPolicy({ params: { policy_id: policy.id }, body })
      const page = data.data.attributes
      const results = [...(before?.results ?? []), ...page.results]
      setError(undefined)
      setJudged({ results, cursor: page['next-cursor'] })
      onFailing(linesOf(results.flatMap(({ findings }) => findings)))
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Panel
      title="Replay on history"
      actions={
        <ActionButton kind="primary" refusal={refusal} onAct={() => replay(undefined)}>
          Replay
        </ActionButton>
      }
    >
      <div className="stack">
        {judged === undefined && (
          <p className="quiet">
            Evaluates the code in the editor against recent runs and job registrations.
          </p>
        )}
        {error !== undefined && <Failure error={error} />}
        {judged !== undefined && <Results organization={organization.id} judged={judged} />}
        {judged !== undefined && judged.cursor !== null && (
          <div>
            <ActionButton refusal={refusal} onAct={() => replay(judged)}>
              Continue with older ones
            </ActionButton>
          </div>
        )}
      </div>
    </Panel>
  )
}

interface ResultsProps {
  readonly organization: string
  readonly judged: Judged
}

function Results({ organization, judged: { results } }: ResultsProps) {
  const denied = results.filter((one) => one['would-deny']).length
  const failed = results.filter(({ status }) => status !== 'passed')
  const reasons = results.flatMap(({ skipped }) => skipped ?? [])
  return (
    <div role="status" className="stack">
      <p>
        {results.length - reasons.length} judged, {failed.length} did not pass,{' '}
        <strong>{denied} would have been denied</strong>.
      </p>
      {reasons.length > 0 && (
        <p className="quiet">
          {reasons.length} more not asked about: {[...new Set(reasons)].join(', ')}.
        </p>
      )}
      <ul className="verdicts">
        {failed.map((one) => (
          <li key={`${one.type}/${one.id}/${one.version ?? ''}/${one['created-at'] ?? ''}`}>
            <div className="row">
              <StateBadge
                state={one['would-deny'] ? 'denied' : one.status}
                text={one['would-deny'] ? 'would deny' : one.status}
              />
              <Link href={hrefOf(organization, one)}>{one.id}</Link>
              {one.version !== null && <span className="tag">version {one.version}</span>}
              <Ago date={dateOfText(one['created-at'])} />
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

/** The id of a job is its namespace and its id; job ids may hold slashes themselves. */
function hrefOf(organization: string, { type, id }: v2.ReplayedSubject): string {
  if (type === 'runs') return paths.run(organization, id)
  const [namespace = 'default', ...rest] = id.split('/')
  return paths.job({ namespace, id: rest.join('/') })
}
