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
import { AllocationBar } from './allocation-bar.tsx'
import { countsOf } from './allocation-counts.ts'

const COLUMNS: readonly Column<JobStatusRow>[] = [
  { id: 'id', head: 'Instance', cell: ({ ID }) => ID.slice(ID.lastIndexOf('/') + 1) },
  {
    id: 'status',
    head: 'Status',
    width: '120px',
    cell: ({ Status }) => <StateBadge state={Status} />,
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
    <Panel title="Instances" isFlush>
      {list.error !== null && <Failure error={list.error} retry={list.retry} />}
      {list.isPending ? (
        <Loading what="the instances" />
      ) : (
        <DataTable
          label="Instances"
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
  )
}

function NoInstances({ job }: { readonly job: Job }) {
  const isPeriodic = job.Periodic !== null
  const command = isPeriodic ? `reeve job periodic force ${job.ID}` : `reeve job dispatch ${job.ID}`
  return (
    <EmptyState title="No instance was launched yet" command={command}>
      <p>
        {isPeriodic
          ? 'The clock launches one as the definition says; you can launch one now.'
          : 'Each dispatch launches one, with a payload and metadata of its own.'}
      </p>
    </EmptyState>
  )
}
