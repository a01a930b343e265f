import type { Job, JobStatusRow } from '@reeve/contract'
import { useCursorList } from '../../data/lists.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { EmptyState, Loading } from '../../components/notices.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Panel } from '../../components/page.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { namespacedCommand } from '../../commands.ts'
import { AllocationBar } from './allocation-graphics.tsx'
import { countsOfRow, LISTED_MAX } from './allocation-counts.ts'
import { JobFailures } from './failure-banner.tsx'

const COLUMNS: readonly Column<JobStatusRow>[] = [
  { id: 'id', head: 'Child job', cell: ({ ID }) => ID.slice(ID.lastIndexOf('/') + 1) },
  {
    id: 'status',
    head: 'Status',
    width: '120px',
    cell: ({ Health }) => <StatusBadge state={Health} />,
  },
  {
    id: 'allocations',
    head: 'Allocations',
    width: '34%',
    isExtra: true,
    cell: (row) => <AllocationBar counts={countsOfRow(row)} desired={0} />,
  },
  {
    id: 'submitted',
    head: 'Launched',
    width: '104px',
    cell: ({ SubmitTime }) => <RelativeTime date={dateFromNs(SubmitTime)} />,
  },
]

/** The child jobs of a periodic or parameterized job. */
export function ChildJobsPanel({ job }: { readonly job: Job }) {
  const { Namespace: namespace, ID: id } = job
  const list = useCursorList(
    ['job-children', namespace, id],
    ({ api, signal, pageQuery }) =>
      api.v1.listJobStatuses({
        query: { ...pageQuery, namespace, prefix: `${id}/`, include_children: true, counts: true },
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
        {list.error !== null && <ErrorMessage error={list.error} retry={list.retry} />}
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
            onEndReached={list.loadMore}
            empty={<NoChildJobs job={job} />}
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

function NoChildJobs({ job }: { readonly job: Job }) {
  const isPeriodic = job.Periodic !== null
  const args = isPeriodic ? ['periodic', 'force', job.ID] : dispatchArgs(job)
  const command = namespacedCommand(job.Namespace, 'job', ...args)
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
function dispatchArgs({ ID, ParameterizedJob }: Job): readonly string[] {
  const { MetaRequired, Payload } = ParameterizedJob ?? {}
  const meta = (MetaRequired ?? []).flatMap((key) => ['--meta', `${key}=VALUE`])
  return ['dispatch', ...meta, ID, ...(Payload === 'required' ? ['FILE'] : [])]
}
