import type { CliHost } from '../host.ts'
import { truncateToWidth, type Paint, type TextStyle, statusStyle } from '../output/color.ts'
import { shortenId, renderTable, formatAge } from '../output/format.ts'
import type { AllocationRow, ClusterView, NodeRow, ResourceShare } from './cluster.ts'
import type { EventLine } from './events.ts'

interface ScreenContent {
  readonly cluster: ClusterView
  readonly events: readonly EventLine[]
  /** ID of the selected row. */
  readonly selectedId: string | undefined
  /** Error shown instead of the key help. */
  readonly errorMessage: string
  readonly rows: number
  readonly nowMs: number
  readonly paint: Paint
}

/** Lines besides list rows: totals, headings and gaps. */
const HEAD_LINES = 4
const FRAME_LINES = 2
const FOOT_LINES = 1
const EVENTS_MIN = 3
const NODES_DIVISOR = 3

/** Renders the screen as lines. */
export function renderScreen(picture: ScreenContent): readonly string[] {
  const { cluster, events: happenings, rows } = picture
  const room = Math.max(0, rows - HEAD_LINES - FOOT_LINES - 3 * FRAME_LINES)
  const nodes = Math.min(cluster.Nodes.length, Math.max(1, Math.floor(room / NODES_DIVISOR)))
  const events = Math.min(EVENTS_MIN, happenings.length)
  const allocations = Math.min(cluster.Allocations.length, Math.max(1, room - nodes - events))
  const left = Math.max(0, room - nodes - allocations)
  const body = [
    ...headLines(picture),
    ...nodeLines(picture, nodes),
    ...allocationLines(picture, allocations),
    ...eventLines(picture, left),
  ]
  if (!Number.isFinite(rows)) return body
  const height = Math.max(1, rows - FOOT_LINES)
  const padded = [...body, ...Array.from({ length: Math.max(0, height - body.length) }, () => '')]
  return [...padded.slice(0, height), footLine(picture)]
}

function footLine({ errorMessage, paint }: ScreenContent): string {
  return errorMessage === '' ? paint('dim', FOOT) : paint('bad', errorMessage)
}

const FOOT = '↑↓ select   Enter details   ? help   q quit'

function headLines({ cluster, paint }: ScreenContent): readonly string[] {
  const { Nodes, Jobs, Allocations, CPU, Memory } = cluster.Totals
  const counts = [
    `Nodes ${countsText(Nodes, paint)}`,
    `Jobs ${countsText(Jobs, paint)}`,
    `Allocations ${countsText(Allocations, paint)}${cluster.HasMore ? ', and more' : ''}`,
  ]
  return [
    `${paint('strong', 'Reeve')}  ${cluster.Address}`,
    counts.join('   '),
    `CPU ${shareText(CPU, 'MHz', paint)}   Memory ${shareText(Memory, 'MB', paint)}`,
    '',
  ]
}

function countsText(counts: Readonly<Record<string, number>>, paint: Paint): string {
  const parts = Object.entries(counts).map(
    ([state, count]) => `${count} ${paint(statusStyle(state), state)}`,
  )
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function shareText(share: ResourceShare, unit: string, paint: Paint): string {
  const { Allocated, Capacity } = share
  return `${drawBar(share, paint)} ${Allocated} of ${Capacity} ${unit} allocated${useText(share)}`
}

function useText({ InUse, Capacity }: ResourceShare): string {
  return InUse === null ? '' : `, ${percent(InUse, Capacity)} in use`
}

const BAR_WIDTH = 10
const WARNING_FROM = 0.7
const BAD_FROM = 0.9

function drawBar({ Allocated, Capacity }: ResourceShare, paint: Paint): string {
  const part = Capacity <= 0 ? 0 : Math.min(1, Allocated / Capacity)
  // A non-zero share has at least one block.
  const full = Allocated <= 0 ? 0 : Math.max(1, Math.round(part * BAR_WIDTH))
  const tone: TextStyle = part >= BAD_FROM ? 'bad' : part >= WARNING_FROM ? 'warning' : 'good'
  return `${paint(tone, '█'.repeat(full))}${paint('dim', '░'.repeat(BAR_WIDTH - full))}`
}

function percent(part: number, whole: number): string {
  return whole <= 0 ? '' : `${Math.round((part / whole) * 100)} %`
}

function nodeLines(picture: ScreenContent, count: number): readonly string[] {
  const { cluster, paint } = picture
  if (cluster.Nodes.length === 0)
    return ['There are no nodes. "reeve agent --client" starts one.', '']
  const rows = windowAround(cluster.Nodes, picture.selectedId, count).map((node) =>
    nodeCells(node, picture),
  )
  const heading = ['  Node', 'Status', 'Allocs', 'CPU', '', 'in use', 'Memory', '', 'in use']
  return listLines([heading, ...rows], paint, formatHiddenCount(cluster.Nodes.length, count))
}

function nodeCells(node: NodeRow, { selectedId, paint }: ScreenContent): readonly string[] {
  const { CPU, Memory } = node
  return [
    `${selectionMark(node.ID, selectedId)}${node.Name}`,
    paint(statusStyle(node.Status), node.Status),
    String(node.Allocations),
    ...shareCells(CPU, paint),
    ...shareCells(Memory, paint),
  ]
}

function shareCells(share: ResourceShare, paint: Paint): readonly string[] {
  const { Allocated, Capacity, InUse } = share
  return [
    drawBar(share, paint),
    percent(Allocated, Capacity),
    InUse === null ? '-' : percent(InUse, Capacity),
  ]
}

function allocationLines(picture: ScreenContent, count: number): readonly string[] {
  const { cluster, selectedId, paint } = picture
  const all = cluster.Allocations
  if (all.length === 0) return ['Nothing runs. "reeve job init" writes an example job file.', '']
  const rows = windowAround(all, selectedId, count).map((one) => allocationCells(one, picture))
  const heading = ['  Allocation', 'Job', 'Group', 'Node', 'Status', 'CPU MHz', 'Memory MB', 'Age']
  return listLines([heading, ...rows], paint, formatHiddenCount(all.length, count))
}

function allocationCells(one: AllocationRow, picture: ScreenContent): readonly string[] {
  const { selectedId, cluster, nowMs, paint } = picture
  const isInOne = new Set(cluster.Allocations.map(({ Namespace }) => Namespace)).size === 1
  return [
    `${selectionMark(one.ID, selectedId)}${shortenId(one.ID)}`,
    isInOne ? one.JobID : `${one.Namespace}/${one.JobID}`,
    one.TaskGroup,
    one.NodeName,
    paint(statusStyle(one.Status), one.Status),
    `${one.CPU.InUse === null ? '-' : Math.round(one.CPU.InUse)} of ${one.CPU.Allocated}`,
    `${one.Memory.InUse === null ? '-' : Math.round(one.Memory.InUse)} of ${one.Memory.Allocated}`,
    formatAge(nowMs - one.CreateTime / NS_PER_MS),
  ]
}

const NS_PER_MS = 1e6

function selectionMark(id: string, chosen: string | undefined): string {
  return id === chosen ? '> ' : '  '
}

function formatHiddenCount(count: number, shown: number): string {
  return count > shown ? `  (${shown} of ${count})` : ''
}

function listLines(
  rows: readonly (readonly string[])[],
  paint: Paint,
  more: string,
): readonly string[] {
  const [heading = [], ...cells] = rows
  const [first = '', ...lines] = renderTable(heading, cells).trimEnd().split('\n')
  const marked = lines.map((line) => (line.startsWith('>') ? paint('strong', line) : line))
  return [paint('dim', `${first}${more}`), ...marked, '']
}

/** Returns a window of rows that includes the selected one. */
function windowAround<T extends { readonly ID: string }>(
  all: readonly T[],
  chosen: string | undefined,
  count: number,
): readonly T[] {
  const at = all.findIndex(({ ID }) => ID === chosen)
  const begin = Math.max(0, Math.min(at - count + 1, all.length - count))
  return all.slice(begin, begin + count)
}

const EVENTS_MAX = 20

function eventLines({ events, nowMs, paint }: ScreenContent, count: number): readonly string[] {
  const shown = events.slice(0, Math.min(count, EVENTS_MAX))
  if (shown.length === 0) return []
  const rows = shown.map(({ Time, Text }) => [
    `  ${Time === null ? '' : formatAge(Math.max(0, nowMs - Time))}`,
    truncateToWidth(Text, TEXT_MAX),
  ])
  return listLines([['  Ago', 'Event'], ...rows], paint, '')
}

/** Maximum text width, longer than any terminal line. */
const TEXT_MAX = 300

/** Switches to the alternate screen, without cursor and line wrapping. */
const ENTER_SCREEN = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
const LEAVE_SCREEN = '\u001b[?7h\u001b[?25h\u001b[?1049l'

/** Owns the terminal screen until it is restored. */
export class AlternateScreen {
  readonly #host: CliHost
  #drawnLines: readonly string[] = []
  #size = ''
  #restore: (() => void) | undefined

  constructor(host: CliHost) {
    this.#host = host
  }

  enter(): void {
    const makeCooked = this.#host.input.isTTY === true ? this.#host.enterRawMode?.() : undefined
    this.#host.out(ENTER_SCREEN)
    const forget = this.#host.onExit?.(() => this.leave())
    this.#restore = () => {
      this.#host.out(LEAVE_SCREEN)
      makeCooked?.()
      forget?.()
    }
  }

  /** Draws the changed lines. */
  paint(lines: readonly string[]): void {
    const [rows, columns] = [this.#host.rows(), this.#host.columns()]
    const shown = lines
      .slice(0, rows)
      .map((line) => truncateToWidth(stripControlCharacters(line), columns))
    const size = `${rows}×${columns}`
    const isNew = size !== this.#size
    const count = Math.max(shown.length, this.#drawnLines.length)
    const changes = Array.from({ length: count }, (_, row) => {
      const line = shown[row] ?? ''
      if (!isNew && line === this.#drawnLines[row]) return ''
      return `\u001b[${row + 1};1H${line}\u001b[K`
    }).join('')
    this.#drawnLines = shown
    this.#size = size
    if (changes !== '') this.#host.out(`${isNew ? '\u001b[2J' : ''}${changes}`)
  }

  /** Restores the terminal. Idempotent. */
  leave(): void {
    const restore = this.#restore
    this.#restore = undefined
    restore?.()
  }
}

/** Control characters, except colors. */
const CONTROLS =
  // eslint-disable-next-line no-control-regex -- control characters are what is taken away
  /\u001b(?!\[[0-9;]*m)|[\u0000-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Replaces control characters except colors. */
export function stripControlCharacters(line: string): string {
  return line.replaceAll(CONTROLS, ' ')
}
