import type { JobStatusRow } from '@reeve/contract'
import { RelativeTime } from '../../parts/ago.tsx'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { quoteShellArg } from '../../parts/curl-line.ts'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { FIRST_COMMANDS } from '../../parts/first-commands.ts'
import { ErrorMessage } from '../../parts/failure.tsx'
import { Loading } from '../../parts/loading.tsx'
import { PageHeader } from '../../parts/page-head.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromNs } from '../../parts/time.ts'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import '../../style/jobs.css'
import { AllocationBar } from './allocation-bar.tsx'
import { countsOfRow, currentCounts } from './allocation-counts.ts'
import { filterExpression, readJobFilter } from './job-filter.ts'
import { JobFilterBar } from './job-filter-bar.tsx'
import { useJobRows } from './use-job-rows.ts'

const COLUMNS: readonly Column<JobStatusRow>[] = [
  {
    id: 'job',
    head: 'Job',
    cell: (job) => job.ID,
  },
  {
    id: 'status',
    head: 'Status',
    width: '128px',
    cell: ({ Health }) => <StatusBadge state={Health} />,
  },
  {
    id: 'allocations',
    head: 'Allocations',
    width: '34%',
    isExtra: true,
    cell: (job) => <Allocations job={job} />,
  },
  { id: 'type', head: 'Type', width: '136px', isExtra: true, cell: (job) => typeOf(job) },
  {
    id: 'namespace',
    head: 'Namespace',
    width: '120px',
    isExtra: true,
    cell: (job) => job.Namespace,
  },
  {
    id: 'submitted',
    head: 'Submitted',
    width: '104px',
    isExtra: true,
    cell: (job) => <RelativeTime date={dateFromNs(job.SubmitTime)} />,
  },
]

function Allocations({ job }: { readonly job: JobStatusRow }) {
  const { ChildCounts } = job
  if (ChildCounts !== null && ChildCounts !== undefined) {
    const { Pending, Running, Dead } = ChildCounts
    const all = Pending + Running + Dead
    return all === 0 ? 'No runs yet' : `${all} child jobs, ${Running} running`
  }
  const isTerminal = job.Stop || job.Status === 'dead'
  const counts = currentCounts(job, countsOfRow(job))
  return (
    <AllocationBar counts={counts} desired={isTerminal || isSystem(job) ? 0 : job.GroupCountSum} />
  )
}

function isSystem({ Type }: JobStatusRow): boolean {
  return Type === 'system' || Type === 'sysbatch'
}

function typeOf({ Type, ChildStatuses }: JobStatusRow) {
  return ChildStatuses === null ? Type : `${Type}, parent`
}

/** The list of jobs of a namespace, latest change first. */
export function JobListPage({ search }: PageProps<'/jobs'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const jobFilter = readJobFilter(search)
  const filter = filterExpression(jobFilter)
  const rows = useJobRows({ namespace, filter, isReversed: jobFilter.order === 'oldest' })
  return (
    <>
      <PageHeader
        title="Jobs"
        actions={
          <Link className="button primary" href={paths.runJob({ namespace })}>
            Run a job
          </Link>
        }
      />
      <JobFilterBar filter={jobFilter} />
      {rows.newCount > 0 && (
        <button type="button" className="button new-rows" onClick={rows.reload}>
          {rows.newCount} new or changed jobs: show them
        </button>
      )}
      {rows.error !== null && <ErrorMessage error={rows.error} retry={rows.retry} />}
      {rows.isPending ? (
        <Loading what="the jobs" />
      ) : (
        rows.error === null && (
          <DataTable
            label="Jobs"
            columns={COLUMNS}
            rows={rows.items}
            keyOf={(job) => `${job.Namespace}/${job.ID}`}
            hrefOf={(job) => paths.job({ namespace: job.Namespace, id: job.ID })}
            hasMore={rows.hasMore}
            onEndReached={rows.loadMore}
            empty={filter === undefined ? <NoJobs namespace={namespace} /> : <NoMatch />}
          />
        )
      )}
      <CliAndApiPanel
        cli={`reeve job status --namespace ${quoteShellArg(namespace)}`}
        call={{ path: '/v1/jobs/statuses', query: { namespace, filter, counts: true } }}
      />
    </>
  )
}

function NoJobs({ namespace }: { readonly namespace: string }) {
  return (
    <EmptyState
      title="No jobs yet"
      command={FIRST_COMMANDS.jobs}
      action={
        <Link className="button primary" href={paths.runJob({ namespace })}>
          Write a job
        </Link>
      }
    >
      <p>
        A job describes what to run and how many allocations. The scheduler places them on nodes and
        keeps them running. Submitted jobs appear here automatically.
      </p>
    </EmptyState>
  )
}

function NoMatch() {
  return (
    <EmptyState title="No matching jobs">
      <p>
        Remove a filter, or search in all namespaces. The field also takes expressions, such as{' '}
        <code>Priority &gt; 50 and Meta.team == "web"</code>.
      </p>
    </EmptyState>
  )
}
