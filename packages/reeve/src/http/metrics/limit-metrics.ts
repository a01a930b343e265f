import type { Clock } from '@reeve/kit/clock.ts'
import type { LimitUsage } from '@reeve/kit/tenant-slots.ts'
import type { LabelledSources } from './metrics.ts'

/** Minimum interval between two reads of the limits: each read visits every tenant. */
const CACHED_MS = 1_000

/** Every limit that is a setting, with its use and what it rejected; `reeve doctor` prints them. */
export function limitMetrics(
  clock: Clock,
  read: () => Promise<readonly LimitUsage[]>,
): LabelledSources {
  let cached: { readonly atMs: number; readonly uses: Promise<readonly LimitUsage[]> } | undefined
  const uses = (): Promise<readonly LimitUsage[]> => {
    const nowMs = clock.nowMs()
    if (cached === undefined || nowMs - cached.atMs >= CACHED_MS)
      cached = { atMs: nowMs, uses: read() }
    return cached.uses
  }
  const each = async (value: (use: LimitUsage) => number) =>
    new Map((await uses()).map((use) => [use.name, value(use)]))
  return {
    limit: {
      help: 'Limits that are in force on this server; those of the block limits are settings.',
      label: 'limit',
      read: () => each(({ max }) => max),
    },
    limit_used: {
      help: 'Use of each limit by the token or address that uses most of it.',
      label: 'limit',
      read: () => each(({ used }) => used),
    },
    requests_rejected_total: {
      help: 'Requests rejected because their client exceeded a limit.',
      label: 'reason',
      isCounter: true,
      read: () => each(({ rejected }) => rejected),
    },
  }
}
