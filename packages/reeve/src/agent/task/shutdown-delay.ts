import type { Clock } from '../../kit/clock.ts'
import { formatDurationNs, msFromNs } from '../../kit/duration.ts'
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

/** Reference scheduling §28: time for callers to go elsewhere before the task is told. */
export async function waitShutdownDelay(ledger: TaskLedger, options: ShutdownDelay): Promise<void> {
  const { clock, delayNs, isSkipped, cutShort } = options
  if (delayNs <= 0) return
  const delay = formatDurationNs(delayNs)
  if (isSkipped) {
    ledger.note('Skipping shutdown delay', { Message: `Shutdown delay of ${delay} skipped` })
    return
  }
  ledger.note('Waiting for shutdown delay', { Message: `Waiting ${delay} before the kill signal` })
  ledger.move('pending')
  const enough = new AbortController()
  await Promise.race([pause(clock, msFromNs(delayNs), enough.signal), ...cutShort])
  enough.abort()
}

/** Spec W, Jobs, `no_shutdown_delay`; it may be said when the delay is already being waited. */
export function skipsDelays({ allocation }: Assignment): boolean {
  return allocation.DesiredTransition.NoShutdownDelay === true
}
