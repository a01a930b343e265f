import type { TaskState } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { DRIVER_AWAY, type DriverContext, type Recovery, type TaskHandle } from '../driver.ts'
import type { AgentHost } from '../host.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { errorCode } from '../store/state-file.ts'
import { pause } from '../wait.ts'
import type { KillRequest } from './task-control.ts'

interface RecoverOptions {
  readonly handle: TaskHandle
  readonly context: DriverContext
  /** Settles when the agent stops. */
  readonly halted: Promise<void>
}

/**
 * Asks the driver what became of a start. A driver that cannot tell now has not lost the task: it
 * is asked again, with growing pauses, until it answers. Undefined when the agent stops meanwhile.
 */
export async function recoverTask(
  { drivers, clock }: Pick<AgentHost, 'drivers' | 'clock'>,
  { handle, context, halted }: RecoverOptions,
): Promise<Recovery | undefined> {
  const driver = drivers.get(handle.driver)
  if (driver === undefined) {
    return { kind: 'lost', reason: `the driver ${handle.driver} is gone` }
  }
  const stop = new AbortController()
  void halted.then(() => stop.abort())
  for (let delayMs: number = AGENT_LIMITS.recoverRetryMsFirst, tries = 1; ; tries += 1) {
    try {
      const recovery = await driver.recover(handle, context)
      if (tries > 1) context.report(`The driver ${driver.name} answers again`)
      return recovery
    } catch (thrown) {
      if (!isTransient(thrown)) return { kind: 'lost', reason: errorMessage(thrown) }
      if (tries === 1) context.report(waitingText(driver.name, thrown))
    }
    if (!(await pause(clock, delayMs, stop.signal))) return undefined
    delayMs = Math.min(2 * delayMs, AGENT_LIMITS.recoverRetryMsMax)
  }
}

/** Says that it passes, or is an error of the system, such as too many open files. */
function isTransient(thrown: unknown): boolean {
  if (thrown instanceof Fault) return thrown.kind === DRIVER_AWAY
  return errorCode(thrown) !== undefined
}

function waitingText(driver: string, thrown: unknown): string {
  return (
    `The agent restarted and cannot reach the task: ${errorMessage(thrown)}. The task is kept, and ` +
    `the agent re-attaches to it when the driver ${driver} answers.`
  )
}

/**
 * The agent ended between two runs: the rest of the delay is still to be waited. Undefined when
 * there was none.
 */
export function restOfDelayMs({ Events }: TaskState, nowMs: number): number | undefined {
  const last = Events.at(-1)
  if (last?.Type !== 'Restarting') return undefined
  const delayMs = msFromNs(last.StartDelay)
  // The clock may have been set back since.
  return Math.min(delayMs, Math.max(0, msFromNs(last.Time) + delayMs - nowMs))
}

/** The kill that the agent ended in the middle of; undefined when there was none. */
export function begunKill(
  { Events }: TaskState,
  skipShutdownDelay: boolean,
): KillRequest | undefined {
  const last = Events.findLast(({ Type }) => BOUNDS_OF_KILLS.includes(Type))
  return last?.Type === 'Killing' ? { reason: last.KillReason, skipShutdownDelay } : undefined
}

/** What begins a kill, what ends it, and what a task that was killed goes on with, if it does. */
const BOUNDS_OF_KILLS: readonly string[] = ['Killing', 'Killed', 'Restarting']
