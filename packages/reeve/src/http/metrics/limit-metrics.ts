import type { Clock } from '@reeve/kit/clock.ts'
import type { LimitUsage } from '@reeve/kit/tenant-slots.ts'
import type { LabelledSources } from './metrics.ts'

/** Minimum interval between two reads of the limits: each read visits every tenant. */
const CACHE_MS = 1_000

/** Returns the metrics of configurable limits: usage and rejections. `reeve doctor` prints them. */
export function limitMetrics(
  clock: Clock,
  read: () => Promise<readonly LimitUsage[]>,
): LabelledSources {
  let cached:
    | { readonly atMs: number; readonly readUsages: Promise<readonly LimitUsage[]> }
    | undefined
  const readUsages = (): Promise<readonly LimitUsage[]> => {
    const nowMs = clock.nowMs()
    if (cached === undefined || nowMs - cached.atMs >= CACHE_MS)
      cached = { atMs: nowMs, readUsages: read() }
    return cached.readUsages
  }
  const readEach = async (value: (use: LimitUsage) => number) =>
    new Map((await readUsages()).map((use) => [use.name, value(use)]))
  return {
    limit: {
      help: 'Limits that are in force on this server; those of the block limits are settings.',
      label: 'limit',
      read: () => readEach(({ max }) => max),
    },
    limit_used: {
      help: 'Use of each limit by the token or address that uses most of it.',
      label: 'limit',
      read: () => readEach(({ used }) => used),
    },
    requests_rejected_total: {
      help: 'Requests rejected because their client exceeded a limit.',
      label: 'reason',
      isCounter: true,
      read: () => readEach(({ rejected }) => rejected),
    },
  }
}
