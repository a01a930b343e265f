import { useEffect, useEffectEvent, useMemo, useRef, type KeyboardEvent } from 'react'
import { readPalette } from '../../parts/palette.ts'
import { useRedraw, useWidth } from '../../parts/use-redraw.ts'
import { paths, type Dimension } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { boxAt, layoutOf, type Layout } from './topology-layout.ts'
import { sizedBy, type TopologyNode } from './topology-model.ts'
import { barAt, drawTopology, type Picture, type Selection } from './topology-picture.ts'
import type { Topology } from './use-topology.ts'

interface TopologyCanvasProps {
  readonly topology: Topology
  readonly by: Dimension
  readonly selection: Selection | undefined
  readonly onSelect: (selection: Selection) => void
}

/** Only what is seen is drawn, on one canvas of the size of the window. */
export function TopologyCanvas({ topology, by, selection, onSelect }: TopologyCanvasProps) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useWidth(frame)
  const { model, version } = topology
  const nodes = useMemo(() => model.nodes(), [model, version])
  const layout = useMemo(() => layoutOf(sizedBy(nodes, by), width), [nodes, by, width])
  const picture: Picture = { nodes, layout, by, selection }
  const draw = useEffectEvent(() => {
    if (canvas.current === null || frame.current === null) return
    drawTopology(canvas.current, picture, {
      top: frame.current.scrollTop,
      width,
      height: frame.current.clientHeight,
      palette: readPalette(),
    })
  })
  useEffect(() => draw(), [version, by, width, selection])
  useRedraw(frame, () => draw())
  const selectAt = (place: number, x?: number) => {
    const box = layout.boxes[place]
    const node = box === undefined ? undefined : nodes[box.index]
    if (box === undefined || node === undefined) return
    onSelect({ nodeId: node.id, bar: x === undefined ? undefined : barAt(picture, box, x) })
  }
  const onClick = (event: { readonly clientX: number; readonly clientY: number }) => {
    const { current } = frame
    if (current === null) return
    const { left, top } = current.getBoundingClientRect()
    const x = event.clientX - left
    selectAt(boxAt(layout, x, event.clientY - top + current.scrollTop), x)
  }
  const chosen = selection === undefined ? undefined : model.node(selection.nodeId)
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
      {chosen !== undefined && (
        <div role="option" aria-selected="true" className="hidden">
          {chosen.name}, {chosen.state}
        </div>
      )}
    </div>
  )
}

interface Moving {
  readonly layout: Layout
  readonly nodes: readonly TopologyNode[]
  readonly selection: Selection | undefined
  readonly selectAt: (place: number) => void
  readonly frame: { readonly current: HTMLElement | null }
}

function moveByKey(event: KeyboardEvent, moving: Moving): void {
  const { layout, nodes, selection, selectAt, frame } = moving
  const here = layout.boxes.findIndex(({ index }) => nodes[index]?.id === selection?.nodeId)
  if (event.key === 'Enter' && selection !== undefined)
    return navigate(paths.node(selection.nodeId))
  const next = nextPlace(layout, here, event.key)
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

function nextPlace({ boxes }: Layout, here: number, key: string): number | undefined {
  const last = boxes.length - 1
  const box = boxes[here]
  switch (key) {
    case 'ArrowRight':
      return Math.min(last, here + 1)
    case 'ArrowLeft':
      return Math.max(0, here - 1)
    case 'Home':
      return 0
    case 'End':
      return last
    case 'ArrowDown': {
      if (box === undefined) return 0
      const below = boxes.findIndex(
        ({ x, y, width }, place) => place > here && y > box.y && x + width > box.x,
      )
      return below === -1 ? here : below
    }
    case 'ArrowUp': {
      if (box === undefined) return 0
      const above = boxes.findLastIndex(
        ({ x, y }, place) => place < here && y < box.y && x <= box.x,
      )
      return above === -1 ? here : above
    }
    default:
      return undefined
  }
}
