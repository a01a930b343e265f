import type { Job, JobStatusRow } from '@reeve/contract'
import { useList } from '../../data/use-list.ts'
import { Ago } from '../../parts/ago.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { Failure } from '../../parts/failure.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { commandIn } from '../../parts/first-commands.ts'
import { AllocationBar } from './allocation-bar.tsx'
import { countsOf, LISTED_MAX } from './allocation-counts.ts'
import { JobFailures } from './failure-banner.tsx'

const COLUMNS: readonly Column<JobStatusRow>[] = [
  { id: 'id', head: 'Child job', cell: ({ ID }) => ID.slice(ID.lastIndexOf('/') + 1) },
  {
    id: 'status',
    head: 'Status',
    width: '120px',
    cell: ({ Health }) => <StateBadge state={Health} />,
  },
  {
    id: 'allocations',
    head: 'Allocations',
    width: '34%',
    isExtra: true,
    cell: (row) => <AllocationBar counts={countsOf(row)} wanted={0} />,
  },
  {
    id: 'submitted',
    head: 'Launched',
    width: '104px',
    cell: ({ SubmitTime }) => <Ago date={dateOfNs(SubmitTime)} />,
  },
]

/** The instances that a periodic or parameterized job has launched. */
export function ChildrenPanel({ job }: { readonly job: Job }) {
  const { Namespace: namespace, ID: id } = job
  const list = useList(
    ['job-children', namespace, id],
    ({ api, signal, page }) =>
      api.v1.listJobStatuses({
        query: { ...page, namespace, prefix: `${id}/`, include_children: true, counts: true },
        signal,
      }),
    {
      watches: [
        { topic: 'Job', namespace },
        { topic: 'Allocation', namespace },
      ],
    },
  )
  return (
    <>
      <NewestFailure namespace={namespace} rows={list.items} hasMore={list.hasMore} />
      <Panel title="Child jobs" isFlush>
        {list.error !== null && <Failure error={list.error} retry={list.retry} />}
        {list.isPending ? (
          <Loading what="the child jobs" />
        ) : (
          <DataTable
            label="Child jobs"
            columns={COLUMNS}
            rows={list.items}
            keyOf={({ ID }) => ID}
            hrefOf={({ ID }) => paths.job({ namespace, id: ID })}
            hasMore={list.hasMore}
            onEnd={list.loadMore}
            empty={<NoInstances job={job} />}
          />
        )}
      </Panel>
    </>
  )
}

interface NewestFailureProps {
  readonly namespace: string
  readonly rows: readonly JobStatusRow[]
  /** True if `rows` are only the newest child jobs. */
  readonly hasMore: boolean
}

/** The failures of the newest failed child job. */
function NewestFailure({ namespace, rows, hasMore }: NewestFailureProps) {
  const failing = rows.filter(({ Health }) => Health === 'failing')
  const [newest] = failing.toSorted((a, b) => b.SubmitTime - a.SubmitTime)
  if (newest === undefined) return null
  const name = { namespace, id: newest.ID }
  return (
    <>
      <p className="note tone-bad">
        {failing.length} of {hasMore && 'the last '}
        {rows.length} child jobs failed, the newest is{' '}
        <Link href={paths.job(name)}>{newest.ID}</Link>.
      </p>
      {newest.GroupCountSum <= LISTED_MAX && <JobFailures job={newest} name={name} />}
    </>
  )
}

function NoInstances({ job }: { readonly job: Job }) {
  const isPeriodic = job.Periodic !== null
  const words = isPeriodic ? ['periodic', 'force', job.ID] : dispatchWords(job)
  const command = commandIn(job.Namespace, 'job', ...words)
  return (
    <EmptyState title="No runs yet" command={command}>
      <p>
        {isPeriodic
          ? 'Runs start on the schedule of the job. You can also start one now.'
          : 'Each dispatch launches one, with a payload and metadata of its own.'}
      </p>
    </EmptyState>
  )
}

/** Includes placeholders for required metadata and payload. */
function dispatchWords({ ID, ParameterizedJob }: Job): readonly string[] {
  const { MetaRequired, Payload } = ParameterizedJob ?? {}
  const meta = (MetaRequired ?? []).flatMap((key) => ['--meta', `${key}=VALUE`])
  return ['dispatch', ...meta, ID, ...(Payload === 'required' ? ['FILE'] : [])]
}
