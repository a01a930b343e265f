import { type KeyboardEvent, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { nodeCommand } from '../../commands.ts'
import { readPalette, useRedraw, useWidth } from '../../components/canvas.ts'
import { DataTable } from '../../components/data-table.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { DescriptionList, PageHeader, Panel, Tabs } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useApiQuery } from '../../data/api-query.ts'
import { formatMegabytes } from '../../format.ts'
import { DIMENSIONS, paths, type Dimension, ALL_NAMESPACES } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import '../../style/cluster.css'
import { allocationColumns } from '../allocations/allocation-columns.tsx'
import { boxIndexAt, computeLayout, type Layout } from './topology-layout.ts'
import { inDrawingOrder, nodeTotals, type TopologyNode, toSizedNodes } from './topology-model.ts'
import { barIndexAt, drawTopology, type Picture, type Selection } from './topology-picture.ts'
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
  const summary = `${nodes}, ${count} allocations; ${formatAmount(allocated, dimension)} of ${formatAmount(capacity, dimension)} allocated (${share} %).`
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
function SelectedNode({ node, barIndex, dimension }: SelectedNodeProps) {
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

interface TopologyCanvasProps {
  readonly topology: Topology
  readonly dimension: Dimension
  readonly selection: Selection | undefined
  readonly onSelect: (selection: Selection) => void
}

/** Draws the visible nodes on one canvas of the size of the viewport. */
function TopologyCanvas({ topology, dimension, selection, onSelect }: TopologyCanvasProps) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useWidth(frame)
  const { model, version } = topology
  const nodes = useMemo(() => model.nodes(), [model, version])
  const layout = useMemo(
    () => computeLayout(toSizedNodes(nodes, dimension), width),
    [nodes, dimension, width],
  )
  const picture: Picture = { nodes, layout, dimension, selection }
  const draw = useEffectEvent(() => {
    if (canvas.current === null || frame.current === null) return
    drawTopology(canvas.current, picture, {
      top: frame.current.scrollTop,
      width,
      height: frame.current.clientHeight,
      palette: readPalette(),
    })
  })
  useEffect(() => draw(), [version, dimension, width, selection])
  useRedraw(frame, () => draw())
  const selectAt = (boxIndex: number, x?: number) => {
    const box = layout.boxes[boxIndex]
    const node = box === undefined ? undefined : nodes[box.index]
    if (box === undefined || node === undefined) return
    onSelect({
      nodeId: node.id,
      barIndex: x === undefined ? undefined : barIndexAt(picture, box, x),
    })
  }
  const onClick = (event: { readonly clientX: number; readonly clientY: number }) => {
    const { current } = frame
    if (current === null) return
    const { left, top } = current.getBoundingClientRect()
    const x = event.clientX - left
    selectAt(boxIndexAt(layout, x, event.clientY - top + current.scrollTop), x)
  }
  const selectedNode = selection === undefined ? undefined : model.node(selection.nodeId)
  return (
    <div
      ref={frame}
      className="topology"
      role="listbox"
      tabIndex={0}
      aria-label="Nodes by capacity. The arrow keys go from node to node, Enter opens one."
      style={{ height: Math.min(layout.height + 8, 560) }}
      onClick={onClick}
      onKeyDown={(event) => moveByKey(event, { layout, nodes, selection, selectAt, frame })}
    >
      <div style={{ height: layout.height }}>
        <canvas ref={canvas} aria-hidden="true" />
      </div>
      {selectedNode !== undefined && (
        <div role="option" aria-selected="true" className="hidden">
          {selectedNode.name}, {selectedNode.state}
        </div>
      )}
    </div>
  )
}

interface KeyboardMove {
  readonly layout: Layout
  readonly nodes: readonly TopologyNode[]
  readonly selection: Selection | undefined
  readonly selectAt: (place: number) => void
  readonly frame: { readonly current: HTMLElement | null }
}

function moveByKey(event: KeyboardEvent, move: KeyboardMove): void {
  const { layout, nodes, selection, selectAt, frame } = move
  const currentIndex = layout.boxes.findIndex(({ index }) => nodes[index]?.id === selection?.nodeId)
  if (event.key === 'Enter' && selection !== undefined)
    return navigate(paths.node(selection.nodeId))
  const next = nextBoxIndex(layout, currentIndex, event.key)
  if (next === undefined) return
  event.preventDefault()
  selectAt(next)
  const box = layout.boxes[next]
  const { current } = frame
  if (box === undefined || current === null) return
  if (box.y < current.scrollTop) current.scrollTop = box.y - layout.boxHeight
  const bottom = box.y + layout.boxHeight
  if (bottom > current.scrollTop + current.clientHeight)
    current.scrollTop = bottom - current.clientHeight + layout.boxHeight
}

function nextBoxIndex({ boxes }: Layout, currentIndex: number, key: string): number | undefined {
  const last = boxes.length - 1
  const box = boxes[currentIndex]
  switch (key) {
    case 'ArrowRight':
      return Math.min(last, currentIndex + 1)
    case 'ArrowLeft':
      return Math.max(0, currentIndex - 1)
    case 'Home':
      return 0
    case 'End':
      return last
    case 'ArrowDown': {
      if (box === undefined) return 0
      const below = boxes.findIndex(
        ({ x, y, width }, boxIndex) => boxIndex > currentIndex && y > box.y && x + width > box.x,
      )
      return below === -1 ? currentIndex : below
    }
    case 'ArrowUp': {
      if (box === undefined) return 0
      const above = boxes.findLastIndex(
        ({ x, y }, boxIndex) => boxIndex < currentIndex && y < box.y && x <= box.x,
      )
      return above === -1 ? currentIndex : above
    }
    default:
      return undefined
  }
}

/** Formats an amount of memory or CPU. */
function formatAmount(value: number, dimension: Dimension): string {
  return dimension === 'memory' ? formatMegabytes(value) : `${Math.round(value)} MHz`
}
