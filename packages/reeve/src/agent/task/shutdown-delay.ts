import type { TaskState } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { formatDurationNs, msFromNs } from '@reeve/kit/duration.ts'
import type { Assignment } from '../assignment.ts'
import { pause } from '../wait.ts'
import type { TaskLedger } from './task-ledger.ts'

interface ShutdownDelay {
  readonly clock: Clock
  readonly delayNs: number
  readonly isSkipped: boolean
  /** Whatever settles first ends the wait. */
  readonly cutShort: readonly Promise<unknown>[]
}

/** Time for callers to go elsewhere before the task is told. */
export async function waitShutdownDelay(ledger: TaskLedger, options: ShutdownDelay): Promise<void> {
  const { clock, delayNs, isSkipped, cutShort } = options
  if (delayNs <= 0) return
  const delay = formatDurationNs(delayNs)
  if (isSkipped) {
    ledger.note('Skipping shutdown delay', { Message: `Shutdown delay of ${delay} skipped` })
    return
  }
  const begunMs = begunWaitMs(ledger.state)
  if (begunMs === undefined) {
    ledger.note(WAITING, { Message: `Waiting ${delay} before the kill signal` })
    ledger.move('pending')
  }
  const nowMs = clock.nowMs()
  // The clock may have been set back since.
  const leftMs = Math.min(begunMs ?? nowMs, nowMs) + msFromNs(delayNs) - nowMs
  const enough = new AbortController()
  await Promise.race([pause(clock, leftMs, enough.signal), ...cutShort])
  enough.abort()
}

const WAITING = 'Waiting for shutdown delay'

/** Since when an agent before this one waited, in the kill that this one goes on with. */
function begunWaitMs({ Events }: TaskState): number | undefined {
  const last = Events.findLast(({ Type }) => Type === 'Killing' || Type === WAITING)
  return last?.Type === WAITING ? msFromNs(last.Time) : undefined
}

/** `no_shutdown_delay` of a stop; it may arrive while the delay is already running. */
export function skipsDelays({ allocation }: Assignment): boolean {
  return allocation.DesiredTransition.NoShutdownDelay === true
}
