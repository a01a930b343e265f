import { useCursorList } from '../../data/use-list.ts'
import { RelativeTime } from '../../parts/ago.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromNs } from '../../parts/time.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { newestFirst } from './evaluation-order.ts'
import { useJobEvaluations } from './job-data.ts'

/** Maximum number of listed evaluations, and of listed decisions. */
const RECORDS_SHOWN_MAX = 5

/** Remaining records of a job that was purged or denied before its registration. */
export function PurgedJob({ name }: { readonly name: JobName }) {
  const { namespace, id } = name
  const verdicts = useCursorList(['job-verdicts', namespace, id], ({ api, signal, pageQuery }) =>
    api.v1.listJobVerdicts({
      params: { job_id: id },
      query: { ...pageQuery, namespace, reverse: true },
      signal,
    }),
  )
  const { data: evaluations = [] } = useJobEvaluations(name)
  if (verdicts.items.length === 0 && evaluations.length === 0) return null
  const latest = evaluations.toSorted(newestFirst)
  return (
    <Panel title="What is still known of it">
      <ul className="reasons">
        {latest.slice(0, RECORDS_SHOWN_MAX).map(({ ID, Status, TriggeredBy, ModifyTime }) => (
          <li key={ID}>
            <Link href={paths.evaluation(ID)}>Evaluation {ID.slice(0, 8)}</Link>{' '}
            <StatusBadge state={Status} /> {TriggeredBy}{' '}
            <RelativeTime date={dateFromNs(ModifyTime)} />
          </li>
        ))}
        {verdicts.items.slice(0, RECORDS_SHOWN_MAX).map(({ ID, Result, Operation, Time }) => (
          <li key={ID}>
            <Link href={paths.verdict(namespace, ID)}>Policy decision {ID.slice(0, 8)}</Link>{' '}
            <StatusBadge state={Result} /> {Operation} <RelativeTime date={dateFromNs(Time)} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}
