/**
 * Timing and tables for benchmarks. Ratios within one run are more reliable than figures of
 * different days.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** `--quick`: checks that a benchmark works; its figures are not representative. */
export const isQuick = process.argv.includes('--quick')

/** Duration of `work` in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export interface Rate {
  readonly perSecond: number
  /** Milliseconds per call. */
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Calls `work` repeatedly until the time is up. */
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
 * Like `rateOf` with several concurrent callers; each waits for its response before the next call.
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

/** The better of two rates, so that temporary load on the machine affects neither side. */
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

/** Milliseconds of a clock that all processes of this machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000
}

/** Bytes of live objects after a full garbage collection. */
export function livingBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

setFlagsFromString('--expose-gc')
// Proof: the flag above defines `gc` in new contexts.
const collectGarbage = runInNewContext('gc') as () => void

/** Prints rows with headings: first column left-aligned, numbers right-aligned. */
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
