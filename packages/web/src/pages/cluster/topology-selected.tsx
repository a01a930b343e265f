import { useEffect } from 'react'
import { DataTable } from '../../parts/data-table.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { useRead } from '../../data/use-read.ts'
import { ALL_NAMESPACES, paths, type Dimension } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { allocationColumns } from '../allocations/allocation-columns.tsx'
import { amountText } from './topology-amount.ts'
import { totalsOf, type TopologyNode } from './topology-model.ts'
import { inDrawnOrder } from './topology-order.ts'

interface SelectedNodeProps {
  readonly node: TopologyNode
  /** The bar that was pointed at. */
  readonly bar: number | undefined
  readonly by: Dimension
}

/** What is drawn: whatever has not ended holds its room. */
const HOLDING = ['running', 'pending', 'unknown']
  .map((status) => `ClientStatus == "${status}"`)
  .join(' or ')

/** More than these nobody reads here; the page of the node has them all. */
const LISTED_MAX = 1_000

/** The node that was pointed at, in words: what it has, and each allocation on it. */
export function SelectedNode({ node, bar, by }: SelectedNodeProps) {
  const { taken, count } = totalsOf(node, by)
  return (
    <>
      <Panel title={`Node ${node.name}`}>
        <div aria-live="polite">
          <Facts
            facts={[
              { name: 'Node', value: <Link href={paths.node(node.id)}>{node.name}</Link> },
              { name: 'State', value: <StateBadge state={node.state} /> },
              { name: 'Pool', value: node.pool },
              {
                name: 'Taken',
                value: `${amountText(taken, by)} of ${amountText(node.has[by], by)}`,
              },
              { name: 'Allocations', value: count },
            ]}
          />
        </div>
      </Panel>
      {count > 0 && <OnNode node={node} bar={bar} />}
    </>
  )
}

function OnNode({ node, bar }: Pick<SelectedNodeProps, 'node' | 'bar'>) {
  const query = useRead(['topology-allocations', node.id], (api, signal) =>
    api.v1.listAllocations({
      query: {
        namespace: ALL_NAMESPACES,
        per_page: LISTED_MAX,
        filter: `NodeID == "${node.id}" and (${HOLDING})`,
      },
      signal,
    }),
  )
  // Events of allocations do not name the node; the picture reads it again when they are about it.
  const { refetch } = query
  useEffect(() => void refetch({ cancelRefetch: false }), [node, refetch])
  return (
    <QueryView query={query} what="the allocations">
      {(list) => {
        const drawn = inDrawnOrder(list)
        const pointed = bar === undefined ? undefined : drawn[bar]
        return (
          <Panel
            title={pointed === undefined ? 'On this node' : `Allocation ${pointed.Name}`}
            isFlush
          >
            <DataTable
              label="Allocations on the node"
              columns={allocationColumns.onNode}
              rows={pointed === undefined ? drawn : [pointed]}
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
