import type { Palette } from '../../parts/palette.ts'
import type { Dimension } from '../../paths.ts'
import { boxesBetween, type Box, type Layout } from './topology-layout.ts'
import type { TopologyBars, TopologyNode } from './topology-model.ts'

export interface Picture {
  readonly nodes: readonly TopologyNode[]
  readonly layout: Layout
  readonly by: Dimension
  readonly selection: Selection | undefined
}

/** What was pointed at: a node, or also one of its bars, counted from the left. */
export interface Selection {
  readonly nodeId: string
  readonly bar: number | undefined
}

/** What is seen of the picture. */
export interface Window {
  readonly top: number
  readonly width: number
  readonly height: number
  readonly palette: Palette
}

const NAME_PX = 16
const PAD_PX = 2

export function drawTopology(canvas: HTMLCanvasElement, picture: Picture, seen: Window): void {
  const { top, width, height, palette } = seen
  const ratio = window.devicePixelRatio
  const wide = Math.round(width * ratio)
  const high = Math.round(height * ratio)
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide
    canvas.height = high
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
  for (const { text, y } of picture.layout.heads)
    if (y + 28 >= top && y <= top + height) context.fillText(text, 1, y + 14)
  for (const box of boxesBetween(picture.layout, top, top + height))
    drawBox(context, picture, { box, palette })
}

interface Drawn {
  readonly box: Box
  readonly palette: Palette
}

function drawBox(context: CanvasRenderingContext2D, picture: Picture, drawn: Drawn): void {
  const { box, palette } = drawn
  const { layout, nodes, selection } = picture
  const node = nodes[box.index]
  if (node === undefined) return
  const isSelected = selection?.nodeId === node.id
  const { x, y, width } = box
  const below = layout.hasNames ? NAME_PX : 0
  context.fillStyle = palette.sunken
  context.fillRect(x, y, width, layout.boxHeight)
  context.strokeStyle = isSelected ? palette.accent : frameColour(node, palette)
  context.lineWidth = isSelected ? 2 : 1
  // Not by colour alone: what takes no work has a broken frame.
  context.setLineDash(node.state === 'ready' ? [] : [4, 3])
  context.strokeRect(x + 0.5, y + 0.5, width - 1, layout.boxHeight - 1)
  context.setLineDash([])
  if (layout.hasNames) drawName(context, node, drawn)
  const barY = y + below + PAD_PX
  const barHeight = layout.boxHeight - below - 2 * PAD_PX
  for (const { status, from, wide, bar } of placedBars(picture, box)) {
    // Not by colour alone: only what runs has the whole height.
    const high = status === 'running' ? barHeight : barHeight / 2
    context.fillStyle = barColour(status, palette)
    // Bars keep a line between them while there is room for it.
    const line = wide > 3 ? 1 : 0
    context.fillRect(from, barY + barHeight - high, wide - line, high)
    if (isSelected && selection.bar === bar) {
      context.strokeStyle = palette.text
      context.lineWidth = 2
      context.strokeRect(from, barY, Math.max(2, wide - line), barHeight)
    }
  }
}

function barColour(status: TopologyBars['status'], palette: Palette): string {
  if (status === 'running') return palette.good
  return status === 'pending' ? palette.busy : palette.warn
}

function frameColour({ state }: TopologyNode, palette: Palette): string {
  if (state === 'ready') return palette['line-strong']
  return state === 'draining' || state === 'ineligible' ? palette.warn : palette.bad
}

function drawName(
  context: CanvasRenderingContext2D,
  { name, state }: TopologyNode,
  { box, palette }: Drawn,
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

interface PlacedBar {
  readonly status: TopologyBars['status']
  readonly from: number
  readonly wide: number
  /** Its number, from the left. */
  readonly bar: number
}

/** The bars of a node side by side, each as wide as its share of what the node has. */
function* placedBars({ nodes, by }: Picture, box: Box): Generator<PlacedBar> {
  const node = nodes[box.index]
  if (node === undefined) return
  const inner = box.width - 2 * PAD_PX
  const perUnit = node.has[by] > 0 ? inner / node.has[by] : 0
  let from = box.x + PAD_PX
  const end = from + inner
  let bar = 0
  for (const { status, takes, count } of node.bars)
    for (let i = 0; i < count; i++) {
      const wide = Math.min(end - from, Math.max(0.5, takes[by] * perUnit))
      if (wide <= 0) return
      yield { status, from, wide, bar }
      from += wide
      bar += 1
    }
}

/** The bar at this place of a box. */
export function barAt(picture: Picture, box: Box, x: number): number | undefined {
  for (const { bar, from, wide } of placedBars(picture, box))
    if (x >= from && x < from + wide) return bar
  return undefined
}
