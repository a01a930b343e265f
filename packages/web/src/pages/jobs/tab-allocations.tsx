import type { AllocationStub } from '@reeve/contract'
import type { ReactNode } from 'react'
import { isParent } from '../../actions/job-can.ts'
import { useCursorList } from '../../data/use-list.ts'
import { RelativeTime } from '../../parts/ago.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { namespacedCommand } from '../../parts/first-commands.ts'
import { ErrorMessage } from '../../parts/failure.tsx'
import { Loading } from '../../parts/loading.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateFromNs } from '../../parts/time.ts'
import { paths, type JobName } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { HealthBadge } from '../allocations/allocation-columns.tsx'
import { isTooLargeToList } from './allocation-counts.ts'
import { useJobAllocations } from './job-data.ts'
import type { JobView } from './job-view.ts'

const COLUMNS: readonly Column<AllocationStub>[] = [
  { id: 'id', head: 'Allocation', width: '112px', cell: ({ ID }) => <code>{ID.slice(0, 8)}</code> },
  { id: 'name', head: 'Name', isExtra: true, cell: ({ Name }) => Name },
  {
    id: 'status',
    head: 'Status',
    width: '120px',
    cell: (allocation) => <HealthBadge allocation={allocation} />,
  },
  { id: 'desired', head: 'Wanted', width: '88px', isExtra: true, cell: (one) => one.DesiredStatus },
  {
    id: 'version',
    head: 'Version',
    width: '80px',
    align: 'end',
    isExtra: true,
    cell: (one) => one.JobVersion,
  },
  {
    id: 'node',
    head: 'Node',
    width: '18%',
    cell: ({ NodeID, NodeName }) => <Link href={paths.node(NodeID)}>{NodeName}</Link>,
  },
  {
    id: 'changed',
    head: 'Updated',
    width: '104px',
    isExtra: true,
    cell: ({ ModifyTime }) => <RelativeTime date={dateFromNs(ModifyTime)} />,
  },
]

/** The tab with the allocations of the job. */
export function AllocationsTab({ job, name }: JobView) {
  const empty = isParent(job) ? (
    <ParentHasNoAllocations name={name} />
  ) : (
    <NoAllocations name={name} />
  )
  const List = isTooLargeToList(job) ? PagedAllocations : AllocationList
  return <List name={name} empty={empty} />
}

interface AllocationsProps {
  readonly name: JobName
  readonly empty: ReactNode
}

function NoAllocations({ name }: { readonly name: JobName }) {
  return (
    <EmptyState
      title="No allocations"
      command={namespacedCommand(name.namespace, 'job', 'explain', name.id)}
    >
      <p>No allocation of this job was placed. See Explain for the reasons.</p>
    </EmptyState>
  )
}

/** Shown for parents of child jobs, which never have allocations of their own. */
function ParentHasNoAllocations({ name }: { readonly name: JobName }) {
  return (
    <EmptyState
      title="Its child jobs have the allocations"
      command={namespacedCommand(name.namespace, 'job', 'status', name.id)}
    >
      <p>
        This job only launches child jobs. The <Link href={paths.job(name)}>overview</Link> lists
        them.
      </p>
    </EmptyState>
  )
}

function AllocationList({ name, empty }: AllocationsProps) {
  const allocations = useJobAllocations(name)
  return (
    <QueryView query={allocations} what="the allocations">
      {(list) => (
        <AllocationTable
          empty={empty}
          rows={list.toSorted((a, b) => b.CreateIndex - a.CreateIndex)}
        />
      )}
    </QueryView>
  )
}

/** Uses the paginated list of allocations; the route of the job returns all at once. */
function PagedAllocations({ name, empty }: AllocationsProps) {
  const { namespace, id } = name
  const list = useCursorList(
    ['job-allocation-pages', namespace, id],
    ({ api, signal, pageQuery }) =>
      api.v1.listAllocations({
        query: { ...pageQuery, namespace, filter: `JobID == "${id}"` },
        signal,
      }),
  )
  if (list.error !== null) return <ErrorMessage error={list.error} retry={list.retry} />
  if (list.isPending) return <Loading what="the allocations" />
  return (
    <AllocationTable
      empty={empty}
      rows={list.items}
      hasMore={list.hasMore}
      onEndReached={list.loadMore}
    />
  )
}

interface AllocationTableProps {
  readonly empty: ReactNode
  readonly rows: readonly AllocationStub[]
  readonly hasMore?: boolean
  readonly onEndReached?: () => void
}

function AllocationTable(list: AllocationTableProps) {
  return (
    <DataTable
      label="Allocations"
      columns={COLUMNS}
      keyOf={({ ID }) => ID}
      hrefOf={({ ID }) => paths.allocation(ID)}
      {...list}
    />
  )
}
