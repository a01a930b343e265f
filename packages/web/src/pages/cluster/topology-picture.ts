import type { Palette } from '../../components/canvas.ts'
import type { Dimension } from '../../paths.ts'
import { boxesBetween, type NodeBox, type Layout } from './topology-layout.ts'
import type { TopologyBars, TopologyNode } from './topology-model.ts'

export interface Picture {
  readonly nodes: readonly TopologyNode[]
  readonly layout: Layout
  readonly dimension: Dimension
  readonly selection: Selection | undefined
}

/** The selected node and, if any, the index of its selected bar from the left. */
export interface Selection {
  readonly nodeId: string
  readonly barIndex: number | undefined
}

/** The visible part of the drawing. */
export interface Viewport {
  readonly top: number
  readonly width: number
  readonly height: number
  readonly palette: Palette
}

const NAME_PX = 16
const PAD_PX = 2

export function drawTopology(
  canvas: HTMLCanvasElement,
  picture: Picture,
  viewport: Viewport,
): void {
  const { top, width, height, palette } = viewport
  const ratio = window.devicePixelRatio
  const pixelWidth = Math.round(width * ratio)
  const pixelHeight = Math.round(height * ratio)
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
    canvas.width = pixelWidth
    canvas.height = pixelHeight
    canvas.style.width = `${width}px`
    canvas.style.height = `${height}px`
  }
  const context = canvas.getContext('2d')
  if (context === null) return
  context.setTransform(ratio, 0, 0, ratio, 0, -top * ratio)
  context.clearRect(0, top, width, height)
  context.font = '600 12px system-ui, sans-serif'
  context.textBaseline = 'middle'
  context.fillStyle = palette.quiet
  for (const { text, y } of picture.layout.headings)
    if (y + 28 >= top && y <= top + height) context.fillText(text, 1, y + 14)
  for (const box of boxesBetween(picture.layout, top, top + height))
    drawBox(context, picture, { box, palette })
}

interface DrawnBox {
  readonly box: NodeBox
  readonly palette: Palette
}

function drawBox(context: CanvasRenderingContext2D, picture: Picture, drawnBox: DrawnBox): void {
  const { box, palette } = drawnBox
  const { layout, nodes, selection } = picture
  const node = nodes[box.index]
  if (node === undefined) return
  const isSelected = selection?.nodeId === node.id
  const { x, y, width } = box
  const nameHeight = layout.hasNames ? NAME_PX : 0
  context.fillStyle = palette.sunken
  context.fillRect(x, y, width, layout.boxHeight)
  context.strokeStyle = isSelected ? palette.accent : borderColour(node, palette)
  context.lineWidth = isSelected ? 2 : 1
  // Not by colour alone: nodes that accept no work have a dashed border.
  context.setLineDash(node.state === 'ready' ? [] : [4, 3])
  context.strokeRect(x + 0.5, y + 0.5, width - 1, layout.boxHeight - 1)
  context.setLineDash([])
  if (layout.hasNames) drawName(context, node, drawnBox)
  const barY = y + nameHeight + PAD_PX
  const barHeight = layout.boxHeight - nameHeight - 2 * PAD_PX
  for (const { status, left, barWidth, barIndex } of barRectangles(picture, box)) {
    // Not by colour alone: only running allocations have the full height.
    const barDrawnHeight = status === 'running' ? barHeight : barHeight / 2
    context.fillStyle = barColour(status, palette)
    // Wide bars are separated by one pixel.
    const line = barWidth > 3 ? 1 : 0
    context.fillRect(left, barY + barHeight - barDrawnHeight, barWidth - line, barDrawnHeight)
    if (isSelected && selection.barIndex === barIndex) {
      context.strokeStyle = palette.text
      context.lineWidth = 2
      context.strokeRect(left, barY, Math.max(2, barWidth - line), barHeight)
    }
  }
}

function barColour(status: TopologyBars['status'], palette: Palette): string {
  if (status === 'running') return palette.good
  return status === 'pending' ? palette.busy : palette.warn
}

function borderColour({ state }: TopologyNode, palette: Palette): string {
  if (state === 'ready') return palette['line-strong']
  return state === 'draining' || state === 'ineligible' ? palette.warn : palette.bad
}

function drawName(
  context: CanvasRenderingContext2D,
  { name, state }: TopologyNode,
  { box, palette }: DrawnBox,
): void {
  context.save()
  context.beginPath()
  context.rect(box.x, box.y, box.width - 4, NAME_PX + 2)
  context.clip()
  context.font = '11px system-ui, sans-serif'
  context.fillStyle = palette.text
  context.fillText(state === 'ready' ? name : `${name}, ${state}`, box.x + 4, box.y + 9)
  context.restore()
}

interface BarRectangle {
  readonly status: TopologyBars['status']
  readonly left: number
  readonly barWidth: number
  /** Index of the bar, from the left. */
  readonly barIndex: number
}

/** Yields the bars of a node, side by side; widths are shares of its capacity. */
function* barRectangles({ nodes, dimension }: Picture, box: NodeBox): Generator<BarRectangle> {
  const node = nodes[box.index]
  if (node === undefined) return
  const inner = box.width - 2 * PAD_PX
  const perUnit = node.capacity[dimension] > 0 ? inner / node.capacity[dimension] : 0
  let left = box.x + PAD_PX
  const end = left + inner
  let barIndex = 0
  for (const { status, usage, count } of node.bars)
    for (let i = 0; i < count; i++) {
      const barWidth = Math.min(end - left, Math.max(0.5, usage[dimension] * perUnit))
      if (barWidth <= 0) return
      yield { status, left, barWidth, barIndex }
      left += barWidth
      barIndex += 1
    }
}

/** Returns the index of the bar at a horizontal position in a box. */
export function barIndexAt(picture: Picture, box: NodeBox, x: number): number | undefined {
  for (const { barIndex, left, barWidth } of barRectangles(picture, box))
    if (x >= left && x < left + barWidth) return barIndex
  return undefined
}
