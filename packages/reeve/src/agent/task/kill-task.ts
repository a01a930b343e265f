import type { TaskEvent, TaskState } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { formatDurationNs, msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { canonicalSignalName } from '@reeve/kit/signal.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import { DRIVER_UNAVAILABLE, type RunningTask, type TaskExit } from '../driver.ts'
import type { AgentContext } from '../agent-context.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { sleep } from '../timing.ts'
import { taskEvent } from './task-event.ts'
import type { KillRequest } from './task-control.ts'
import type { TaskRecorder } from './task-recorder.ts'
import { DONE_STEP, type Step } from './task-state.ts'

/** Kill timeout of the task, limited by the node. */
export function killTimeoutMs(
  { KillTimeout }: Pick<AgentTask, 'KillTimeout'>,
  { killTimeoutMaxMs }: Pick<AgentContext, 'killTimeoutMaxMs'>,
): number {
  return Math.min(msFromNs(KillTimeout), killTimeoutMaxMs)
}

interface KillOptions {
  readonly agent: Pick<AgentContext, 'clock' | 'killTimeoutMaxMs'>
  readonly task: Pick<AgentTask, 'KillSignal' | 'KillTimeout'>
  readonly recorder: Pick<TaskRecorder, 'emitEvent'>
  /** Resolves when the agent stops. */
  readonly shutdown: Promise<void>
}

interface KillOutcome {
  /** Undefined if the driver could not kill the task or report its exit. */
  readonly exit: TaskExit | undefined
  /** Why there is no exit; empty on success. */
  readonly error: string
}

/**
 * Stops a task. A failed kill is retried with growing delays and finally given up. An unavailable
 * driver does not count as a failure: the kill is retried until the agent stops.
 */
export async function killTask(running: RunningTask, options: KillOptions): Promise<KillOutcome> {
  const { agent, task, recorder, shutdown } = options
  const { clock } = agent
  const request = {
    signal: canonicalSignalName(task.KillSignal),
    timeoutMs: killTimeoutMs(task, agent),
  }
  let retryDelayMs: number = AGENT_LIMITS.killRetryInitialDelayMs
  let failures = 0
  let isDriverUnavailable = false
  for (;;) {
    try {
      await running.stop(request)
      return await awaitExit(running, clock)
    } catch (thrown) {
      const error = errorMessage(thrown)
      const wasDriverUnavailable = isDriverUnavailable
      isDriverUnavailable = thrown instanceof Fault && thrown.kind === DRIVER_UNAVAILABLE
      if (isDriverUnavailable && !wasDriverUnavailable)
        recorder.emitEvent('Driver', { DriverMessage: killRetryMessage(error) })
      if (!isDriverUnavailable) failures += 1
      if (failures === AGENT_LIMITS.killAttemptsMax) return { exit: undefined, error }
      const shutDown = shutdown.then(() => SHUT_DOWN)
      const interruption = await Promise.race([
        sleep(clock, retryDelayMs),
        running.exited,
        shutDown,
      ])
      if (interruption === SHUT_DOWN) return { exit: undefined, error }
      retryDelayMs = isDriverUnavailable
        ? Math.min(2 * retryDelayMs, AGENT_LIMITS.recoverRetryMaxDelayMs)
        : 2 * retryDelayMs
    }
  }
}

const SHUT_DOWN = Symbol('halted')

function killRetryMessage(error: string): string {
  return `The task cannot be stopped now: ${error}. It is retried when the driver responds.`
}

async function awaitExit(running: RunningTask, clock: Clock): Promise<KillOutcome> {
  const cancelTimeout = new AbortController()
  const timeout = sleep(clock, AGENT_LIMITS.exitStatusTimeoutMs, cancelTimeout.signal).then(
    () => undefined,
  )
  const exit = await Promise.race([running.exited, timeout])
  cancelTimeout.abort()
  return {
    exit,
    error: exit === undefined ? 'the task was killed, but its exit status is unknown' : '',
  }
}

/** Adds the events that precede a kill: its cause, if any, and the kill itself. */
export function emitKillEvents(
  recorder: TaskRecorder,
  { cause, reason }: KillRequest,
  timeoutMs: number,
): void {
  if (cause !== undefined) recorder.emitEvent(cause.type, cause.fields)
  recorder.emitEvent('Killing', { KillTimeout: nsFromMs(timeoutMs), KillReason: reason })
}

/** Ends a killed task. The error is the one of a kill that failed. */
export function markKilled(recorder: TaskRecorder, error = ''): Step {
  recorder.emitEvent('Killed', error === '' ? {} : { KillError: error })
  recorder.setState('dead')
  return DONE_STEP
}

/** Event for the exit of the process as the driver reported it. */
export function terminatedEvent(exit: TaskExit): TaskEvent {
  const details: Record<string, string> = { oom_killed: String(exit.oomKilled) }
  // The wording of the peer, which users search for.
  const messageParts = [exit.oomKilled ? 'OOM Killed' : '', exit.message]
  const message = messageParts.filter((word) => word !== '').join(': ')
  if (message !== '') details['exit_message'] = message
  const fields = { ExitCode: exit.exitCode, Signal: exit.signal, Message: message, details }
  return taskEvent('Terminated', exit.atMs, fields)
}

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

/** Fault for operations that need a running process. */
export function notRunningFault(task: string): Fault {
  return new Fault('task-not-running', `task ${JSON.stringify(task)} is not running`)
}
