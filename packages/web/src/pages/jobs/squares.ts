import type { ClientStatus } from '@reeve/contract'
import type { Palette } from '../../parts/palette.ts'
import { totalOf, type AllocationCounts } from './allocation-counts.ts'

/** Squares side by side, row by row. */
export interface Grid {
  readonly columns: number
  readonly rows: number
  /** From one square to the next. */
  readonly stepPx: number
}

/** The more there are, the smaller they get: up to, step. */
const STEPS = [
  { count: 1_500, stepPx: 10 },
  { count: 4_000, stepPx: 7 },
  { count: Infinity, stepPx: 4 },
] as const
/** More squares than these nobody tells apart, and they fill pages. */
export const SQUARES_DRAWN_MAX = 50_000

export function gridOf(count: number, width: number): Grid {
  const { stepPx } = STEPS.find((one) => count <= one.count) ?? STEPS[2]
  const columns = Math.max(1, Math.floor(width / stepPx))
  return { columns, rows: Math.ceil(count / columns), stepPx }
}

interface Drawing {
  readonly counts: AllocationCounts
  /** Instances that are wanted and have no place. */
  readonly missing: number
  readonly palette: Palette
}

/** One square for each allocation, by status; which one it is, the list tells. */
export function drawSquares(
  context: CanvasRenderingContext2D,
  grid: Grid,
  { counts, missing, palette }: Drawing,
): void {
  const { columns, stepPx } = grid
  const size = stepPx - (stepPx > 4 ? 2 : 1)
  let at = 0
  for (const [count, look] of [
    ...AMISS.map((status) => [counts[status], LOOKS[status]] as const),
    [missing, MISSING] as const,
    ...WELL.map((status) => [counts[status], LOOKS[status]] as const),
  ]) {
    context.fillStyle = palette[look.colour]
    for (const end = at + count; at < end; at++) {
      const x = (at % columns) * stepPx
      const y = Math.floor(at / columns) * stepPx
      // Not by colour alone: what does not run is not a whole square.
      context.fillRect(x, y + size * (1 - look.height), size * look.width, size * look.height)
    }
  }
}

export function squaresTotal(counts: AllocationCounts, missing: number): number {
  return totalOf(counts) + missing
}

/** What asks for a look comes first: thousands that run may fill the rest. */
const AMISS = ['failed', 'lost', 'unknown', 'pending'] as const
const WELL = ['running', 'complete'] as const

interface Look {
  readonly colour: keyof Palette
  readonly width: number
  readonly height: number
}

const LOOKS: Readonly<Record<ClientStatus, Look>> = {
  running: { colour: 'good', width: 1, height: 1 },
  pending: { colour: 'busy', width: 1, height: 0.5 },
  unknown: { colour: 'warn', width: 1, height: 0.5 },
  failed: { colour: 'bad', width: 0.5, height: 1 },
  lost: { colour: 'bad', width: 0.5, height: 0.5 },
  complete: { colour: 'quiet', width: 0.5, height: 0.5 },
}
const MISSING: Look = { colour: 'line-strong', width: 1, height: 0.25 }
