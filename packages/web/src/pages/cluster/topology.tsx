import { useState } from 'react'
import { CommandLine } from '../../parts/command-line.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { nodeCommand } from '../../parts/first-commands.ts'
import { Failure } from '../../parts/failure.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { DIMENSIONS, paths, type Dimension } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import '../../style/cluster.css'
import { amountText } from './topology-amount.ts'
import { TopologyCanvas } from './topology-canvas.tsx'
import type { Selection } from './topology-picture.ts'
import { SelectedNode } from './topology-selected.tsx'
import { useTopology, type Topology } from './use-topology.ts'

const TEXTS: Readonly<Record<Dimension, string>> = { memory: 'Memory', cpu: 'CPU' }

/** All nodes at once: how wide each is says what it has, its bars what lies on it. */
export function TopologyPage({ search }: PageProps<'/topology'>) {
  const by = DIMENSIONS.find((one) => one === search.get('by')) ?? 'memory'
  const topology = useTopology()
  const [selection, setSelection] = useState<Selection>()
  const { model, isLoading, error } = topology
  const node = selection === undefined ? undefined : model.node(selection.nodeId)
  return (
    <>
      <PageHead title="Topology" lead={error === undefined ? leadOf(topology, by) : undefined} />
      <Tabs
        label="Drawn by"
        current={by}
        tabs={DIMENSIONS.map((id) => ({ id, text: TEXTS[id], href: paths.topology(id) }))}
      />
      {error !== undefined && <Failure error={error} />}
      {model.nodeCount === 0 && !isLoading && error === undefined ? (
        <EmptyState title="No nodes yet" command={nodeCommand(window.location.origin)}>
          <p>Start an agent with the address of a server: it registers itself and appears here.</p>
        </EmptyState>
      ) : (
        <Panel title="Nodes" isFlush actions={<Legend />}>
          <TopologyCanvas
            topology={topology}
            by={by}
            selection={selection}
            onSelect={setSelection}
          />
        </Panel>
      )}
      {node !== undefined && (
        <SelectedNode key={node.id} node={node} bar={selection?.bar} by={by} />
      )}
      <CommandLine cli="reeve node status" call={{ path: '/v1/topology' }} />
    </>
  )
}

function leadOf({ model, isLoading }: Topology, by: Dimension): string {
  const { taken, count, has } = model.totals(by)
  const share = has === 0 ? 0 : Math.round((100 * taken) / has)
  const nodes = `${model.nodeCount} ${model.nodeCount === 1 ? 'node' : 'nodes'}`
  const words = `${nodes}, ${count} allocations; ${amountText(taken, by)} of ${amountText(has, by)} taken (${share} %).`
  return isLoading ? `${words} More is being read…` : words
}

function Legend() {
  return (
    <>
      <StateBadge state="running" />
      <StateBadge state="pending" />
      <StateBadge state="draining" text="not taking work" />
      <StateBadge state="down" text="not ready" />
    </>
  )
}
