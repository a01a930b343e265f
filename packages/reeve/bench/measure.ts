/** Timing and tables for benches. Ratios in one run mean more than numbers from different days. */

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

/** Prints rows under headings, columns aligned; the first column to the left, numbers to the right. */
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
