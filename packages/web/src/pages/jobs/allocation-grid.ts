import type { ClientStatus } from '@reeve/contract'
import type { Palette } from '../../components/canvas.ts'
import { totalCount, type AllocationCounts } from './allocation-counts.ts'

/** Squares side by side, row by row. */
export interface GridLayout {
  readonly columns: number
  readonly rows: number
  /** Distance between two squares. */
  readonly stepPx: number
}

/** Size of the squares by maximum count. */
const SQUARE_SIZES = [
  { count: 1_500, stepPx: 10 },
  { count: 4_000, stepPx: 7 },
  { count: Infinity, stepPx: 4 },
] as const
/** Larger jobs show no grid. */
export const GRID_SQUARES_MAX = 50_000

export function computeGrid(count: number, width: number): GridLayout {
  const { stepPx } = SQUARE_SIZES.find((one) => count <= one.count) ?? SQUARE_SIZES[2]
  const columns = Math.max(1, Math.floor(width / stepPx))
  return { columns, rows: Math.ceil(count / columns), stepPx }
}

interface GridContent {
  readonly counts: AllocationCounts
  /** Number of desired allocations that are not placed. */
  readonly unplaced: number
  readonly palette: Palette
}

/** Draws one square per allocation, ordered by status. */
export function drawAllocationGrid(
  context: CanvasRenderingContext2D,
  grid: GridLayout,
  { counts, unplaced, palette }: GridContent,
): void {
  const { columns, stepPx } = grid
  const size = stepPx - (stepPx > 4 ? 2 : 1)
  let position = 0
  for (const [count, style] of [
    ...STATUSES_SHOWN_FIRST.map((status) => [counts[status], SQUARE_STYLES[status]] as const),
    [unplaced, UNPLACED_STYLE] as const,
    ...STATUSES_SHOWN_LAST.map((status) => [counts[status], SQUARE_STYLES[status]] as const),
  ]) {
    context.fillStyle = palette[style.colour]
    for (const end = position + count; position < end; position++) {
      const x = (position % columns) * stepPx
      const y = Math.floor(position / columns) * stepPx
      // Not by colour alone: only running allocations are full squares.
      context.fillRect(x, y + size * (1 - style.height), size * style.width, size * style.height)
    }
  }
}

export function gridTotal(counts: AllocationCounts, unplaced: number): number {
  return totalCount(counts) + unplaced
}

/** Problems are drawn first, before thousands of running allocations. */
const STATUSES_SHOWN_FIRST = ['failed', 'lost', 'unknown', 'pending'] as const
const STATUSES_SHOWN_LAST = ['running', 'complete'] as const

interface SquareStyle {
  readonly colour: keyof Palette
  readonly width: number
  readonly height: number
}

const SQUARE_STYLES: Readonly<Record<ClientStatus, SquareStyle>> = {
  running: { colour: 'good', width: 1, height: 1 },
  pending: { colour: 'busy', width: 1, height: 0.5 },
  unknown: { colour: 'warn', width: 1, height: 0.5 },
  failed: { colour: 'bad', width: 0.5, height: 1 },
  lost: { colour: 'bad', width: 0.5, height: 0.5 },
  complete: { colour: 'quiet', width: 0.5, height: 0.5 },
}
const UNPLACED_STYLE: SquareStyle = { colour: 'line-strong', width: 1, height: 0.25 }
