import type { PolicyVerdict } from '@reeve/contract'
import { useCursorList } from '../../data/use-list.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { RelativeTime } from '../../parts/ago.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { ErrorMessage } from '../../parts/failure.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { JobOutcomes } from '../policies/job-outcome.tsx'
import type { JobView } from './job-view.ts'

/** The tab with the policy decisions on the job: denials and overrides. */
export function PolicyDecisionsTab({ name }: JobView) {
  const { namespace, id } = name
  const list = useCursorList(
    ['job-verdicts', namespace, id],
    ({ api, signal, pageQuery }) =>
      api.v1.listJobVerdicts({
        params: { job_id: id },
        query: { ...pageQuery, namespace, reverse: true },
        signal,
      }),
    { watches: [{ topic: 'PolicyVerdict' }] },
  )
  if (list.error !== null) return <ErrorMessage error={list.error} retry={list.retry} />
  if (list.isPending) return <Loading what="the verdicts" />
  if (list.items.length === 0)
    return (
      <EmptyState title="No policy decisions" command={FIRST_COMMANDS.policySets}>
        <p>
          Policy sets apply to the jobs of their namespaces. Denied and overridden changes of this
          job appear here with the failing rule.
        </p>
      </EmptyState>
    )
  return (
    <>
      {list.items.map((decision) => (
        <PolicyDecisionPanel key={decision.ID} decision={decision} />
      ))}
      {list.hasMore && <ActionButton onAction={list.loadMore}>Load older</ActionButton>}
    </>
  )
}

function PolicyDecisionPanel({ decision }: { readonly decision: PolicyVerdict }) {
  const { ID, Namespace, Operation, Result, Time, TokenName, AccessorID, Comment } = decision
  const who = TokenName || AccessorID.slice(0, 8)
  return (
    <Panel
      title={`${Operation}, ${Result}`}
      actions={<Link href={paths.verdict(Namespace, ID)}>Details</Link>}
    >
      <div className="row legend">
        <StatusBadge state={Result} />
        <RelativeTime date={dateFromNs(Time)} />
        {who !== '' && <span className="quiet">by {who}</span>}
        {Comment !== '' && <span>“{Comment}”</span>}
      </div>
      <JobOutcomes outcomes={decision.Outcomes} />
      {decision.OutcomesOmitted > 0 && (
        <p className="quiet">And {decision.OutcomesOmitted} more.</p>
      )}
    </Panel>
  )
}
