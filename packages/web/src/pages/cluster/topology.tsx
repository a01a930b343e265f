import { useState } from 'react'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { nodeCommand } from '../../parts/first-commands.ts'
import { ErrorMessage } from '../../parts/failure.tsx'
import { PageHeader } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { DIMENSIONS, paths, type Dimension } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import '../../style/cluster.css'
import { formatAmount } from './topology-amount.ts'
import { TopologyCanvas } from './topology-canvas.tsx'
import type { Selection } from './topology-picture.ts'
import { SelectedNode } from './topology-selected.tsx'
import { useTopology, type Topology } from './use-topology.ts'

const DIMENSION_TEXTS: Readonly<Record<Dimension, string>> = { memory: 'Memory', cpu: 'CPU' }

/** The topology: boxes are nodes by capacity, bars are their allocations. */
export function TopologyPage({ search }: PageProps<'/topology'>) {
  const dimension = DIMENSIONS.find((one) => one === search.get('by')) ?? 'memory'
  const topology = useTopology()
  const [selection, setSelection] = useState<Selection>()
  const { model, isLoading, error } = topology
  const node = selection === undefined ? undefined : model.node(selection.nodeId)
  return (
    <>
      <PageHeader
        title="Topology"
        lead={error === undefined ? summaryText(topology, dimension) : undefined}
      />
      <Tabs
        label="View by"
        current={dimension}
        tabs={DIMENSIONS.map((id) => ({ id, text: DIMENSION_TEXTS[id], href: paths.topology(id) }))}
      />
      {error !== undefined && <ErrorMessage error={error} />}
      {model.nodeCount === 0 && !isLoading && error === undefined ? (
        <EmptyState title="No nodes yet" command={nodeCommand(window.location.origin)}>
          <p>Start an agent with the address of a server: it registers itself and appears here.</p>
        </EmptyState>
      ) : (
        <Panel title="Nodes" isFlush actions={<Legend />}>
          <TopologyCanvas
            topology={topology}
            dimension={dimension}
            selection={selection}
            onSelect={setSelection}
          />
        </Panel>
      )}
      {node !== undefined && (
        <SelectedNode
          key={node.id}
          node={node}
          barIndex={selection?.barIndex}
          dimension={dimension}
        />
      )}
      <CliAndApiPanel cli="reeve node status" call={{ path: '/v1/topology' }} />
    </>
  )
}

function summaryText({ model, isLoading }: Topology, dimension: Dimension): string {
  const { allocated, count, capacity } = model.totals(dimension)
  const share = capacity === 0 ? 0 : Math.round((100 * allocated) / capacity)
  const nodes = `${model.nodeCount} ${model.nodeCount === 1 ? 'node' : 'nodes'}`
  const summary = `${nodes}, ${count} allocations; ${formatAmount(allocated, dimension)} of ${formatAmount(capacity, dimension)} taken (${share} %).`
  return isLoading ? `${summary} Loading more…` : summary
}

function Legend() {
  return (
    <>
      <StatusBadge state="running" />
      <StatusBadge state="pending" />
      <StatusBadge state="draining" text="ineligible" />
      <StatusBadge state="down" text="not ready" />
    </>
  )
}
