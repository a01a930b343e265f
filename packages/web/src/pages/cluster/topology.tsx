import { useState } from 'react'
import { CommandLine } from '../../parts/command-line.tsx'
import { megabytesText } from '../../parts/bytes.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { Failure } from '../../parts/failure.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { DIMENSIONS, paths, type Dimension } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import '../../style/cluster.css'
import { TopologyCanvas, type Selection } from './topology-canvas.tsx'
import { BARS_MAX, type TopologyModel, type TopologyNode } from './topology-model.ts'
import { useTopology, type Topology } from './use-topology.ts'

const TEXTS: Readonly<Record<Dimension, string>> = { memory: 'Memory', cpu: 'CPU' }

/** All nodes at once: how wide each is says what it has, its bars what lies on it. */
export function TopologyPage({ search }: PageProps<'/topology'>) {
  const by = DIMENSIONS.find((one) => one === search.get('by')) ?? 'memory'
  const topology = useTopology()
  const [selection, setSelection] = useState<Selection>()
  const { model, isLoading, error } = topology
  return (
    <>
      <PageHead title="Topology" lead={leadOf(topology, by)} />
      <Tabs
        label="Drawn by"
        current={by}
        tabs={DIMENSIONS.map((id) => ({ id, text: TEXTS[id], href: paths.topology(id) }))}
      />
      {error !== undefined && <Failure error={error} />}
      {model.nodeCount === 0 && !isLoading && error === undefined ? (
        <EmptyState title="No nodes yet" command="reeve agent --config client.hcl">
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
      {model.barCount >= BARS_MAX && (
        <p className="quiet">Only {BARS_MAX} allocations are drawn.</p>
      )}
      {selection !== undefined && <Selected model={model} selection={selection} by={by} />}
      <CommandLine
        cli="reeve node status"
        call={{ path: '/v1/nodes', query: { resources: true } }}
      />
    </>
  )
}

function leadOf({ model, isLoading }: Topology, by: Dimension): string {
  const { taken, has } = model.totals(by)
  const share = has === 0 ? 0 : Math.round((100 * taken) / has)
  const words = `${model.nodeCount} ${model.nodeCount === 1 ? 'node' : 'nodes'}, ${model.barCount} allocations; ${amount(taken, by)} of ${amount(has, by)} taken (${share} %).`
  return isLoading ? `${words} More is being read…` : words
}

function amount(value: number, by: Dimension): string {
  return by === 'memory' ? megabytesText(value) : `${Math.round(value)} MHz`
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

interface SelectedProps {
  readonly model: TopologyModel
  readonly selection: Selection
  readonly by: Dimension
}

function Selected({ model, selection, by }: SelectedProps) {
  const { node, barId } = selection
  const bar = barId === undefined ? undefined : model.bar(barId)
  return (
    <Panel title={bar === undefined ? `Node ${node.name}` : `Allocation ${bar.name}`}>
      <div aria-live="polite">
        <Facts
          facts={[
            ...(bar === undefined
              ? []
              : [
                  {
                    name: 'Allocation',
                    value: <Link href={paths.allocation(bar.id)}>{bar.id.slice(0, 8)}</Link>,
                  },
                  {
                    name: 'Job',
                    value: (
                      <Link href={paths.job({ namespace: bar.namespace, id: bar.jobId })}>
                        {bar.jobId}
                      </Link>
                    ),
                  },
                  { name: 'Status', value: <StateBadge state={bar.status} /> },
                  { name: 'Takes', value: amount(bar.takes[by], by) },
                ]),
            ...nodeFacts(model, node, by),
          ]}
        />
      </div>
    </Panel>
  )
}

function nodeFacts(model: TopologyModel, node: TopologyNode, by: Dimension) {
  const bars = [...model.barsOf(node.id)]
  const taken = bars.reduce((sum, { takes }) => sum + takes[by], 0)
  return [
    { name: 'Node', value: <Link href={paths.node(node.id)}>{node.name}</Link> },
    { name: 'State', value: <StateBadge state={node.state} /> },
    { name: 'Pool', value: node.pool },
    { name: 'Taken', value: `${amount(taken, by)} of ${amount(node.has[by], by)}` },
    { name: 'Allocations', value: bars.length },
  ]
}
