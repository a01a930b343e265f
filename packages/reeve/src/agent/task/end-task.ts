import type { TaskEvent } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { canonicalSignalName } from '@reeve/kit/signal.ts'
import type { AgentTask } from '../assignment.ts'
import { DRIVER_AWAY, type RunningTask, type TaskExit } from '../driver.ts'
import type { AgentHost } from '../host.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { pause } from '../wait.ts'
import { taskEvent } from './task-event.ts'
import type { TaskLedger } from './task-ledger.ts'

/** What the task asks for, within what the node allows. */
export function killTimeoutMs(
  { KillTimeout }: Pick<AgentTask, 'KillTimeout'>,
  { killTimeoutMsMax }: Pick<AgentHost, 'killTimeoutMsMax'>,
): number {
  return Math.min(msFromNs(KillTimeout), killTimeoutMsMax)
}

interface EndOptions {
  readonly host: Pick<AgentHost, 'clock' | 'killTimeoutMsMax'>
  readonly task: Pick<AgentTask, 'KillSignal' | 'KillTimeout'>
  readonly ledger: Pick<TaskLedger, 'note'>
  /** Settles when the agent stops. */
  readonly halted: Promise<void>
}

interface EndOutcome {
  /** Undefined when the driver could not end the task or tell how it ended. */
  readonly exit: TaskExit | undefined
  /** Why not; empty when it ended. */
  readonly error: string
}

/**
 * A kill that fails is tried again with growing pauses, then given up with its error. What runs the
 * task cannot be asked for a while: that is no failed try, and is waited for until the agent stops.
 */
export async function endTask(running: RunningTask, options: EndOptions): Promise<EndOutcome> {
  const { host, task, ledger, halted } = options
  const { clock } = host
  const request = {
    signal: canonicalSignalName(task.KillSignal),
    timeoutMs: killTimeoutMs(task, host),
  }
  let pauseMs: number = AGENT_LIMITS.killRetryMsFirst
  let failures = 0
  let isAway = false
  for (;;) {
    try {
      await running.stop(request)
      return await knownExit(running, clock)
    } catch (thrown) {
      const error = errorMessage(thrown)
      const wasAway = isAway
      isAway = thrown instanceof Fault && thrown.kind === DRIVER_AWAY
      if (isAway && !wasAway) ledger.note('Driver', { DriverMessage: waitingText(error) })
      if (!isAway) failures += 1
      if (failures === AGENT_LIMITS.killAttemptsMax) return { exit: undefined, error }
      const isHalted = halted.then(() => HALTED)
      const cut = await Promise.race([pause(clock, pauseMs), running.exited, isHalted])
      if (cut === HALTED) return { exit: undefined, error }
      pauseMs = isAway ? Math.min(2 * pauseMs, AGENT_LIMITS.recoverRetryMsMax) : 2 * pauseMs
    }
  }
}

const HALTED = Symbol('halted')

function waitingText(error: string): string {
  return `The task cannot be stopped now: ${error}. The stop goes on when the driver answers.`
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
