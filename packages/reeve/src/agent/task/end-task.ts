import type { TaskEvent } from '@reeve/contract'
import type { Clock } from '../../kit/clock.ts'
import { messageOf } from '../../kit/fault.ts'
import type { RunningTask, StopRequest, TaskExit } from '../driver.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { pause } from '../wait.ts'
import { taskEvent } from './task-event.ts'

interface EndOptions extends StopRequest {
  readonly clock: Clock
}

interface EndOutcome {
  /** Undefined when the driver could not end the task or tell how it ended. */
  readonly exit: TaskExit | undefined
  /** Why not; empty when it ended. */
  readonly error: string
}

/**
 * Reference scheduling §28: a kill that fails is tried again with growing pauses, then given up
 * with its error.
 */
export async function endTask(running: RunningTask, options: EndOptions): Promise<EndOutcome> {
  const { clock, signal, timeoutMs } = options
  let pauseMs: number = AGENT_LIMITS.killRetryMsFirst
  let error = ''
  for (let attempt = 1; attempt <= AGENT_LIMITS.killAttemptsMax; attempt += 1) {
    try {
      await running.stop({ signal, timeoutMs })
      return await knownExit(running, clock)
    } catch (thrown) {
      error = messageOf(thrown)
    }
    if (attempt === AGENT_LIMITS.killAttemptsMax) break
    await Promise.race([pause(clock, pauseMs), running.exited])
    pauseMs *= 2
  }
  return { exit: undefined, error }
}

async function knownExit(running: RunningTask, clock: Clock): Promise<EndOutcome> {
  const giveUp = new AbortController()
  const late = pause(clock, AGENT_LIMITS.exitKnownMsMax, giveUp.signal).then(() => undefined)
  const exit = await Promise.race([running.exited, late])
  giveUp.abort()
  return { exit, error: exit === undefined ? 'the task was ended, but not how it ended' : '' }
}

/** How the process ended, as the driver tells. */
export function terminatedEvent(exit: TaskExit): TaskEvent {
  const details: Record<string, string> = { oom_killed: String(exit.oomKilled) }
  // In the peer's words, which people search for.
  const words = [exit.oomKilled ? 'OOM Killed' : '', exit.message]
  const message = words.filter((word) => word !== '').join(': ')
  if (message !== '') details['exit_message'] = message
  const fields = { ExitCode: exit.exitCode, Signal: exit.signal, Message: message, details }
  return taskEvent('Terminated', exit.atMs, fields)
}
