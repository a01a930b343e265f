import type { AllocationStub } from '@reeve/contract'
import { Ago } from '../../parts/ago.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useJobAllocations } from './job-data.ts'
import type { JobView } from './job-view.ts'

const COLUMNS: readonly Column<AllocationStub>[] = [
  { id: 'id', head: 'Allocation', width: '112px', cell: ({ ID }) => <code>{ID.slice(0, 8)}</code> },
  { id: 'name', head: 'Name', isExtra: true, cell: ({ Name }) => Name },
  {
    id: 'status',
    head: 'Status',
    width: '120px',
    cell: ({ ClientStatus, ClientDescription }) => (
      <StateBadge state={ClientStatus} title={ClientDescription} />
    ),
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
    head: 'Changed',
    width: '104px',
    isExtra: true,
    cell: ({ ModifyTime }) => <Ago date={dateOfNs(ModifyTime)} />,
  },
]

/** Every allocation of the job that is still known. */
export function AllocationsTab({ name }: JobView) {
  const allocations = useJobAllocations(name)
  return (
    <QueryView query={allocations} what="the allocations">
      {(list) => (
        <DataTable
          label="Allocations"
          columns={COLUMNS}
          rows={list.toSorted((a, b) => b.CreateIndex - a.CreateIndex)}
          keyOf={({ ID }) => ID}
          hrefOf={({ ID }) => paths.allocation(ID)}
          empty={
            <EmptyState title="No allocations" command={`reeve job explain ${name.id}`}>
              <p>Nothing of this job was placed on a node. Explain says why.</p>
            </EmptyState>
          }
        />
      )}
    </QueryView>
  )
}
