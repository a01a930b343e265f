import { useList } from '../../data/use-list.ts'
import { Ago } from '../../parts/ago.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { newestFirst } from './evaluation-order.ts'
import { useJobEvaluations } from './job-data.ts'

/** More of them say nothing new of a job that is gone. */
const SHOWN_MAX = 5

/** What is left of a job that was purged, or was denied before it came to be. */
export function GoneJob({ name }: { readonly name: JobName }) {
  const { namespace, id } = name
  const verdicts = useList(['job-verdicts', namespace, id], ({ api, signal, page }) =>
    api.v1.listJobVerdicts({
      params: { job_id: id },
      query: { ...page, namespace, reverse: true },
      signal,
    }),
  )
  const { data: evaluations = [] } = useJobEvaluations(name)
  if (verdicts.items.length === 0 && evaluations.length === 0) return null
  const latest = evaluations.toSorted(newestFirst)
  return (
    <Panel title="What is still known of it">
      <ul className="reasons">
        {latest.slice(0, SHOWN_MAX).map(({ ID, Status, TriggeredBy, ModifyTime }) => (
          <li key={ID}>
            <Link href={paths.evaluation(ID)}>Evaluation {ID.slice(0, 8)}</Link>{' '}
            <StateBadge state={Status} /> {TriggeredBy} <Ago date={dateOfNs(ModifyTime)} />
          </li>
        ))}
        {verdicts.items.slice(0, SHOWN_MAX).map(({ ID, Result, Operation, Time }) => (
          <li key={ID}>
            <Link href={paths.verdict(namespace, ID)}>Verdict {ID.slice(0, 8)}</Link>{' '}
            <StateBadge state={Result} /> {Operation} <Ago date={dateOfNs(Time)} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}
