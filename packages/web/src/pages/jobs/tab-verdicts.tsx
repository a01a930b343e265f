import type { PolicyVerdict } from '@reeve/contract'
import { useList } from '../../data/use-list.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { Failure } from '../../parts/failure.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { JobOutcomes } from '../policies/job-outcome.tsx'
import type { JobView } from './job-view.ts'

/** When policies denied a change of the job, or were passed over, and by which line. */
export function VerdictsTab({ name }: JobView) {
  const { namespace, id } = name
  const list = useList(
    ['job-verdicts', namespace, id],
    ({ api, signal, page }) =>
      api.v1.listJobVerdicts({
        params: { job_id: id },
        query: { ...page, namespace, reverse: true },
        signal,
      }),
    { watches: [{ topic: 'PolicyVerdict' }] },
  )
  if (list.error !== null) return <Failure error={list.error} retry={list.retry} />
  if (list.isPending) return <Loading what="the verdicts" />
  if (list.items.length === 0)
    return (
      <EmptyState title="No policy denied it" command={FIRST_COMMANDS.policySets}>
        <p>
          Policy sets apply to the jobs of their namespaces. Denied and overridden changes of this
          job appear here with the failing rule.
        </p>
      </EmptyState>
    )
  return (
    <>
      {list.items.map((verdict) => (
        <VerdictPanel key={verdict.ID} verdict={verdict} />
      ))}
      {list.hasMore && <ActionButton onAct={list.loadMore}>Load older</ActionButton>}
    </>
  )
}

function VerdictPanel({ verdict }: { readonly verdict: PolicyVerdict }) {
  const { ID, Namespace, Operation, Result, Time, TokenName, AccessorID, Comment } = verdict
  const who = TokenName || AccessorID.slice(0, 8)
  return (
    <Panel
      title={`${Operation}, ${Result}`}
      actions={<Link href={paths.verdict(Namespace, ID)}>Details</Link>}
    >
      <div className="row legend">
        <StateBadge state={Result} />
        <Ago date={dateOfNs(Time)} />
        {who !== '' && <span className="quiet">by {who}</span>}
        {Comment !== '' && <span>“{Comment}”</span>}
      </div>
      <JobOutcomes outcomes={verdict.Outcomes} />
      {verdict.OutcomesOmitted > 0 && <p className="quiet">And {verdict.OutcomesOmitted} more.</p>}
    </Panel>
  )
}
