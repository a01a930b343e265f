/** Timing and tables for benches. Ratios in one run mean more than numbers from different days. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** `--quick`: enough to see that a bench works, not enough to quote it. */
export const isQuick = process.argv.includes('--quick')

/** How long `work` took, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export interface Rate {
  readonly perSecond: number
  /** Milliseconds of one call. */
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Calls `work` one after the other until the time is up. */
export async function rateOf(durationMs: number, work: () => Promise<unknown>): Promise<Rate> {
  const tookMs: number[] = []
  const start = performance.now()
  let now = start
  do {
    tookMs.push(await timed(work))
    now = performance.now()
  } while (now - start < durationMs)
  return summary(tookMs, now - start)
}

/**
 * As `rateOf`, from several callers at once; each waits for its own answer before it asks again.
 */
export async function sharedRateOf(
  durationMs: number,
  callers: readonly (() => Promise<unknown>)[],
): Promise<Rate> {
  const tookMs: number[] = []
  const start = performance.now()
  await Promise.all(
    callers.map(async (work) => {
      while (performance.now() - start < durationMs) tookMs.push(await timed(work))
    }),
  )
  return summary(tookMs, performance.now() - start)
}

/** The rate of the better turn, so that neither side is judged by the machine's worst moment. */
export function better(a: Rate, b: Rate): Rate {
  return a.perSecond >= b.perSecond ? a : b
}

export function summary(tookMs: readonly number[], overMs: number): Rate {
  const sorted = Float64Array.from(tookMs).toSorted()
  const quantile = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  return {
    perSecond: (tookMs.length / overMs) * 1_000,
    p50: quantile(0.5),
    p99: quantile(0.99),
    max: sorted.at(-1) ?? 0,
  }
}

/** Milliseconds on a clock that all processes of this machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000
}

/** Bytes of living objects: what is left after everything that can be collected has been. */
export function livingBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

setFlagsFromString('--expose-gc')
// The flag above puts it there, for contexts made after it was set.
const collectGarbage = runInNewContext('gc') as () => void

/** Prints rows under headings: the first column to the left, numbers to the right. */
export function printTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const all = [headings, ...rows]
  const widths = headings.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)))
  const pad = (cell: string, at: number): string =>
    at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  const lines = all.map((row) => row.map(pad).join('  ').trimEnd())
  process.stdout.write(`${lines.join('\n')}\n\n`)
}

export function whole(number: number): string {
  return Math.round(number).toLocaleString('en')
}

export function fixed(number: number): string {
  return number.toFixed(2)
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`
}
