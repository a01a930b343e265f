import { useEffect } from 'react'
import { DataTable } from '../../parts/data-table.tsx'
import { DescriptionList, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { useApiQuery } from '../../data/use-read.ts'
import { ALL_NAMESPACES, paths, type Dimension } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { allocationColumns } from '../allocations/allocation-columns.tsx'
import { formatAmount } from './topology-amount.ts'
import { nodeTotals, type TopologyNode } from './topology-model.ts'
import { inDrawingOrder } from './topology-order.ts'

interface SelectedNodeProps {
  readonly node: TopologyNode
  /** Index of the selected bar. */
  readonly barIndex: number | undefined
  readonly dimension: Dimension
}

/** Drawn are allocations that have not ended, because they hold resources. */
const NON_TERMINAL_FILTER = ['running', 'pending', 'unknown']
  .map((status) => `ClientStatus == "${status}"`)
  .join(' or ')

/** Maximum number of listed allocations; the page of the node lists all. */
const LISTED_MAX = 1_000

/** Panels with the details of the selected node and its allocations. */
export function SelectedNode({ node, barIndex, dimension }: SelectedNodeProps) {
  const { allocated, count } = nodeTotals(node, dimension)
  return (
    <>
      <Panel title={`Node ${node.name}`}>
        <div aria-live="polite">
          <DescriptionList
            facts={[
              { name: 'Node', value: <Link href={paths.node(node.id)}>{node.name}</Link> },
              { name: 'State', value: <StatusBadge state={node.state} /> },
              { name: 'Pool', value: node.pool },
              {
                name: 'Allocated',
                value: `${formatAmount(allocated, dimension)} of ${formatAmount(node.capacity[dimension], dimension)}`,
              },
              { name: 'Allocations', value: count },
            ]}
          />
        </div>
      </Panel>
      {count > 0 && <NodeAllocationsPanel node={node} barIndex={barIndex} />}
    </>
  )
}

function NodeAllocationsPanel({ node, barIndex }: Pick<SelectedNodeProps, 'node' | 'barIndex'>) {
  const query = useApiQuery(['topology-allocations', node.id], (api, signal) =>
    api.v1.listAllocations({
      query: {
        namespace: ALL_NAMESPACES,
        per_page: LISTED_MAX,
        filter: `NodeID == "${node.id}" and (${NON_TERMINAL_FILTER})`,
      },
      signal,
    }),
  )
  // The node object changes whenever its allocations change, so it triggers the refetch.
  const { refetch } = query
  useEffect(() => void refetch({ cancelRefetch: false }), [node, refetch])
  return (
    <QueryView query={query} what="the allocations">
      {(list) => {
        const drawn = inDrawingOrder(list)
        const selectedAllocation = barIndex === undefined ? undefined : drawn[barIndex]
        return (
          <Panel
            title={
              selectedAllocation === undefined
                ? 'On this node'
                : `Allocation ${selectedAllocation.Name}`
            }
            isFlush
          >
            <DataTable
              label="Allocations on the node"
              columns={allocationColumns.onNode}
              rows={selectedAllocation === undefined ? drawn : [selectedAllocation]}
              keyOf={({ ID }) => ID}
              hrefOf={({ ID }) => paths.allocation(ID)}
              empty={null}
            />
          </Panel>
        )
      }}
    </QueryView>
  )
}
