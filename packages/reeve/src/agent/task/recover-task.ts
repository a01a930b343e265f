import type { TaskState } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import {
  DRIVER_UNAVAILABLE,
  type DriverContext,
  type Recovery,
  type TaskHandle,
} from '../driver.ts'
import type { AgentContext } from '../agent-context.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { errorCode } from '../store/state-file.ts'
import { sleep } from '../timing.ts'
import type { KillRequest } from './task-control.ts'

interface RecoverOptions {
  readonly handle: TaskHandle
  readonly context: DriverContext
  /** Resolves when the agent stops. */
  readonly shutdown: Promise<void>
}

/**
 * Asks the driver what became of a start. An unavailable driver has not lost the task: it is asked
 * again with growing delays until it answers. Undefined if the agent stops meanwhile.
 */
export async function recoverTask(
  { drivers, clock }: Pick<AgentContext, 'drivers' | 'clock'>,
  { handle, context, shutdown }: RecoverOptions,
): Promise<Recovery | undefined> {
  const driver = drivers.get(handle.driver)
  if (driver === undefined) {
    return { kind: 'lost', reason: `the driver ${handle.driver} is gone` }
  }
  const shutdownSignal = new AbortController()
  void shutdown.then(() => shutdownSignal.abort())
  for (let delayMs: number = AGENT_LIMITS.recoverRetryInitialDelayMs, attempt = 1; ; attempt += 1) {
    try {
      const recovery = await driver.recover(handle, context)
      if (attempt > 1) context.report(`The driver ${driver.name} answers again`)
      return recovery
    } catch (thrown) {
      if (!isTransient(thrown)) return { kind: 'lost', reason: errorMessage(thrown) }
      if (attempt === 1) context.report(recoveryRetryMessage(driver.name, thrown))
    }
    if (!(await sleep(clock, delayMs, shutdownSignal.signal))) return undefined
    delayMs = Math.min(2 * delayMs, AGENT_LIMITS.recoverRetryMaxDelayMs)
  }
}

/**
 * Whether the driver is temporarily unavailable, or the error is a system error such as too many
 * open files.
 */
function isTransient(thrown: unknown): boolean {
  if (thrown instanceof Fault) return thrown.kind === DRIVER_UNAVAILABLE
  return errorCode(thrown) !== undefined
}

function recoveryRetryMessage(driver: string, thrown: unknown): string {
  return (
    `The agent restarted and cannot reach the task: ${errorMessage(thrown)}. The task is kept, and ` +
    `the agent re-attaches to it when the driver ${driver} answers.`
  )
}

/** Remaining restart delay if the agent stopped between two runs; undefined if there was none. */
export function remainingRestartDelayMs({ Events }: TaskState, nowMs: number): number | undefined {
  const lastEvent = Events.at(-1)
  if (lastEvent?.Type !== 'Restarting') return undefined
  const delayMs = msFromNs(lastEvent.StartDelay)
  // The clock may have been set back.
  return Math.min(delayMs, Math.max(0, msFromNs(lastEvent.Time) + delayMs - nowMs))
}

/** Kill that was in progress when the agent stopped; undefined if there was none. */
export function interruptedKill(
  { Events }: TaskState,
  skipShutdownDelay: boolean,
): KillRequest | undefined {
  const boundary = Events.findLast(({ Type }) => KILL_BOUNDARY_EVENTS.includes(Type))
  return boundary?.Type === 'Killing'
    ? { reason: boundary.KillReason, skipShutdownDelay }
    : undefined
}

/** The last of these events tells whether a kill was in progress when the agent stopped. */
const KILL_BOUNDARY_EVENTS: readonly string[] = ['Killing', 'Killed', 'Restarting']
