import type { TaskState } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { formatDurationNs, msFromNs } from '@reeve/kit/duration.ts'
import type { Assignment } from '../assignment.ts'
import { sleep } from '../wait.ts'
import type { TaskRecorder } from './task-ledger.ts'

interface ShutdownDelayOptions {
  readonly clock: Clock
  readonly delayNs: number
  readonly isSkipped: boolean
  /** The first of these to settle ends the wait. */
  readonly interruptions: readonly Promise<unknown>[]
}

/**
 * Waits for the shutdown delay, in which clients can switch to other instances before the kill
 * signal.
 */
export async function waitShutdownDelay(
  recorder: TaskRecorder,
  options: ShutdownDelayOptions,
): Promise<void> {
  const { clock, delayNs, isSkipped, interruptions } = options
  if (delayNs <= 0) return
  const delay = formatDurationNs(delayNs)
  if (isSkipped) {
    recorder.emitEvent('Skipping shutdown delay', { Message: `Shutdown delay of ${delay} skipped` })
    return
  }
  const startedMs = delayStartedMs(recorder.state)
  if (startedMs === undefined) {
    recorder.emitEvent(SHUTDOWN_DELAY_EVENT, { Message: `Waiting ${delay} before the kill signal` })
    recorder.setState('pending')
  }
  const nowMs = clock.nowMs()
  // The clock may have been set back.
  const remainingMs = Math.min(startedMs ?? nowMs, nowMs) + msFromNs(delayNs) - nowMs
  const stopWaiting = new AbortController()
  await Promise.race([sleep(clock, remainingMs, stopWaiting.signal), ...interruptions])
  stopWaiting.abort()
}

const SHUTDOWN_DELAY_EVENT = 'Waiting for shutdown delay'

/**
 * When the shutdown delay started, if the previous agent had begun the kill that this one
 * continues.
 */
function delayStartedMs({ Events }: TaskState): number | undefined {
  const lastEvent = Events.findLast(
    ({ Type }) => Type === 'Killing' || Type === SHUTDOWN_DELAY_EVENT,
  )
  return lastEvent?.Type === SHUTDOWN_DELAY_EVENT ? msFromNs(lastEvent.Time) : undefined
}

/** `no_shutdown_delay` of a stop; it may arrive while the delay is already running. */
export function skipsShutdownDelay({ allocation }: Assignment): boolean {
  return allocation.DesiredTransition.NoShutdownDelay === true
}
