import type { AllocationStub, Node } from '@reeve/contract'
import { isEventOf } from '@reeve/sdk'
import { useLiveList } from '../../data/use-live-list.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import { allocationColumns } from '../allocations/allocation-columns.tsx'

/** The tab with the current and past allocations of the node. */
export function NodeAllocations({ node }: { readonly node: Node }) {
  const filter = `NodeID == "${node.ID}"`
  const namespace = ALL_NAMESPACES
  const list = useLiveList<AllocationStub>(
    ['node-allocations', node.ID],
    ({ api, signal, pageQuery }) =>
      api.v1.listAllocations({
        query: { ...pageQuery, namespace, filter, reverse: true },
        signal,
      }),
    {
      watch: { topic: 'Allocation' },
      idOf: ({ ID }) => ID,
      itemOf: (event) => {
        const found = isEventOf(event, 'Allocation') ? event.Payload.Allocation : undefined
        return found?.NodeID === node.ID ? found : undefined
      },
    },
  )
  return (
    <PagedTable
      label="Allocations"
      what="the allocations"
      list={list}
      columns={allocationColumns.onNode}
      keyOf={({ ID }) => ID}
      hrefOf={({ ID }) => paths.allocation(ID)}
      empty={
        <EmptyState title="No allocations" command={`reeve node status ${node.ID}`}>
          <p>The scheduler places allocations on nodes that are ready and eligible.</p>
        </EmptyState>
      }
    />
  )
}
