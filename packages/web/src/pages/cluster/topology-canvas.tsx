import { useEffect, useEffectEvent, useMemo, useRef, type KeyboardEvent } from 'react'
import { readPalette } from '../../parts/palette.ts'
import { useRedraw, useWidth } from '../../parts/use-redraw.ts'
import { paths, type Dimension } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { boxIndexAt, computeLayout, type Layout } from './topology-layout.ts'
import { toSizedNodes, type TopologyNode } from './topology-model.ts'
import { barIndexAt, drawTopology, type Picture, type Selection } from './topology-picture.ts'
import type { Topology } from './use-topology.ts'

interface TopologyCanvasProps {
  readonly topology: Topology
  readonly dimension: Dimension
  readonly selection: Selection | undefined
  readonly onSelect: (selection: Selection) => void
}

/** Draws the visible nodes on one canvas of the size of the viewport. */
export function TopologyCanvas({ topology, dimension, selection, onSelect }: TopologyCanvasProps) {
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
