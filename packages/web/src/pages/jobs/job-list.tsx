import type { JobStatusRow } from '@reeve/contract'
import { useList } from '../../data/use-list.ts'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { Failure } from '../../parts/failure.tsx'
import { Loading } from '../../parts/loading.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'

const COLUMNS: readonly Column<JobStatusRow>[] = [
  { id: 'job', head: 'Job', cell: (job) => job.ID },
  {
    id: 'status',
    head: 'Status',
    width: '120px',
    cell: (job) => <StateBadge state={job.Status} />,
  },
  { id: 'type', head: 'Type', width: '96px', isExtra: true, cell: (job) => job.Type },
  {
    id: 'submitted',
    head: 'Submitted',
    width: '120px',
    isExtra: true,
    cell: (job) => <Ago date={dateOfNs(job.SubmitTime)} />,
  },
]

/** Every job of a namespace, newest change first. */
export function JobListPage({ search }: PageProps<'/jobs'>) {
  const namespace = search.get('namespace') ?? ALL_NAMESPACES
  const list = useList(
    ['jobs', namespace],
    ({ api, signal, page }) => api.v1.listJobStatuses({ query: { ...page, namespace }, signal }),
    {
      watches: [
        { topic: 'Job', namespace },
        { topic: 'Allocation', namespace },
      ],
    },
  )
  return (
    <>
      <PageHead
        title="Jobs"
        actions={
          <Link className="button primary" href={paths.runJob({ namespace })}>
            Run a job
          </Link>
        }
      />
      {list.error !== null && <Failure error={list.error} />}
      {list.isPending ? (
        <Loading what="the jobs" />
      ) : (
        <DataTable
          label="Jobs"
          columns={COLUMNS}
          rows={list.items}
          keyOf={(job) => `${job.Namespace}/${job.ID}`}
          hrefOf={(job) => paths.job({ namespace: job.Namespace, id: job.ID })}
          hasMore={list.hasMore}
          onEnd={list.loadMore}
          empty={
            <EmptyState title="No jobs" command="reeve job run job.hcl">
              <p>A job says what should run; the scheduler finds nodes for it.</p>
            </EmptyState>
          }
        />
      )}
      <CommandLine
        cli={`reeve job status --namespace '${namespace}'`}
        call={{ path: '/v1/jobs/statuses', query: { namespace } }}
      />
    </>
  )
}
