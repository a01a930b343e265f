import type { Clock, Random } from '../kit/clock.ts'
import { parseDurationMs } from '../kit/duration.ts'
import { LIMITS } from '../model/index.ts'
import type { Store, WatchTarget } from '../state/index.ts'
import type { Hold } from './lifecycle.ts'
import { QueryError } from './query.ts'

/** What a parked read looks at: cheap enough to ask again at every wake-up. */
export interface Watched {
  /** The index that stands for the result now. */
  readonly index: () => number
  readonly watch: readonly WatchTarget[]
}

/** How a read asks to wait (reference §1.4). */
export interface Wait {
  /** Hold until the result's index is larger; 0 answers at once. */
  readonly minIndex: number
  readonly wait: string | undefined
}

export interface BlockingRequest extends Wait {
  /** Over when the caller has gone or the server drains. */
  readonly hold: Hold
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

/** Whether a read is held at all; one that cannot be is answered at once. */
export function wouldWait({ minIndex, wait }: Wait, watched: Watched): boolean {
  if (minIndex === 0) return false
  baseMs(wait)
  return watched.index() <= minIndex && parked < LIMITS.parkedQueriesMax
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
  const { minIndex, hold } = request
  let index = watched.index()
  if (minIndex === 0 || parked >= LIMITS.parkedQueriesMax) return index
  const deadlineMs = host.clock.nowMs() + waitMs(request.wait, host.random)
  while (index <= minIndex && !hold.isOver) {
    const leftMs = deadlineMs - host.clock.nowMs()
    if (leftMs <= 0) break
    await woken(host, { targets: watched.watch, leftMs, hold })
    index = watched.index()
  }
  return index
}

/** Default 5 minutes, cap 10, plus up to a sixteenth so that callers spread out. */
export function waitMs(wait: string | undefined, random: Random): number {
  const base = baseMs(wait)
  return base + random.next() * (base / LIMITS.waitJitterShare)
}

function baseMs(wait: string | undefined): number {
  const given = wait === undefined || wait === '' ? 0 : parseDurationMs(wait)
  if (given === undefined) throw new QueryError('Invalid wait time')
  return given <= 0 ? LIMITS.waitMsDefault : Math.min(given, LIMITS.waitMsMax)
}

interface Sleep {
  readonly targets: readonly WatchTarget[]
  readonly leftMs: number
  readonly hold: Hold
}

/**
 * Registered in the same turn in which the read ran: a commit applied later wakes it when it is
 * durable, one applied earlier was seen by the read. Nothing falls in between.
 */
function woken({ store, clock }: BlockingHost, sleep: Sleep): Promise<void> {
  return new Promise((resolve) => {
    parked++
    const done = (): void => {
      parked--
      cancelWatch()
      cancelTimer()
      sleep.hold.onOver(undefined)
      resolve()
    }
    const cancelWatch = store.watches.watch(sleep.targets, done)
    const cancelTimer = clock.after(sleep.leftMs, done)
    sleep.hold.onOver(done)
  })
}
