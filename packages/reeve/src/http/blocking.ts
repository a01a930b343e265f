import type { Clock, Random } from '../kit/clock.ts'
import { parseDurationMs } from '../kit/duration.ts'
import { LIMITS } from '../model/index.ts'
import type { Store, WatchTarget } from '../state/index.ts'
import { QueryError } from './query.ts'

/** What a parked read looks at: cheap enough to ask again at every wake-up. */
export interface Watched {
  /** The index that stands for the result now. */
  readonly index: () => number
  readonly watch: readonly WatchTarget[]
}

export interface BlockingRequest {
  /** Hold until the result's index is larger; 0 answers at once. */
  readonly minIndex: number
  readonly wait: string | undefined
  /** Fires when the caller has gone or the server drains. */
  readonly signal: AbortSignal
}

export interface BlockingHost {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
}

/** Queries that are parked now; a gauge and a bound. */
let parked = 0
export function parkedQueries(): number {
  return parked
}

/**
 * Waits until the result's index has passed the one given, or the deadline; answers with the index
 * then (reference §1.4). A wake-up does not promise a change.
 */
export async function runBlocking(
  host: BlockingHost,
  request: BlockingRequest,
  watched: Watched,
): Promise<number> {
  const { minIndex, signal } = request
  let index = watched.index()
  if (minIndex === 0 || parked >= LIMITS.parkedQueriesMax) return index
  const deadlineMs = host.clock.nowMs() + waitMs(request.wait, host.random)
  while (index <= minIndex && !signal.aborted) {
    const leftMs = deadlineMs - host.clock.nowMs()
    if (leftMs <= 0) break
    await woken(host, { targets: watched.watch, leftMs, signal })
    index = watched.index()
  }
  return index
}

/** Default 5 minutes, cap 10, plus up to a sixteenth so that callers spread out. */
export function waitMs(wait: string | undefined, random: Random): number {
  const given = wait === undefined || wait === '' ? 0 : parseDurationMs(wait)
  if (given === undefined) throw new QueryError('Invalid wait time')
  const base = given <= 0 ? LIMITS.waitMsDefault : Math.min(given, LIMITS.waitMsMax)
  return base + random.next() * (base / LIMITS.waitJitterShare)
}

interface Wait {
  readonly targets: readonly WatchTarget[]
  readonly leftMs: number
  readonly signal: AbortSignal
}

/**
 * Registered in the same turn in which the read ran: a commit applied later wakes it when it is
 * durable, one applied earlier was seen by the read. Nothing falls in between.
 */
function woken({ store, clock }: BlockingHost, wait: Wait): Promise<void> {
  return new Promise((resolve) => {
    parked++
    const done = (): void => {
      parked--
      cancelWatch()
      cancelTimer()
      wait.signal.removeEventListener('abort', done)
      resolve()
    }
    const cancelWatch = store.watches.watch(wait.targets, done)
    const cancelTimer = clock.after(wait.leftMs, done)
    wait.signal.addEventListener('abort', done)
  })
}
