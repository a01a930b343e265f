import type { TaskEvent } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { canonicalSignalName } from '@reeve/kit/signal.ts'
import type { AgentTask } from '../assignment.ts'
import { DRIVER_UNAVAILABLE, type RunningTask, type TaskExit } from '../driver.ts'
import type { AgentContext } from '../host.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { sleep } from '../wait.ts'
import { taskEvent } from './task-event.ts'
import type { TaskRecorder } from './task-ledger.ts'

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
  return `The task cannot be stopped now: ${error}. The stop goes on when the driver answers.`
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
