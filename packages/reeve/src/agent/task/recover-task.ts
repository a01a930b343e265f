import type { TaskState } from '@reeve/contract'
import { msFromNs } from '../../kit/duration.ts'
import { Fault, messageOf } from '../../kit/fault.ts'
import type { Recovery, TaskDriver, TaskHandle } from '../driver.ts'
import type { KillRequest } from './task-control.ts'

type Drivers = ReadonlyMap<string, TaskDriver>

/** Asks the driver what became of a start; a driver that cannot tell has lost the task. */
export async function recoverTask(drivers: Drivers, handle: TaskHandle): Promise<Recovery> {
  const driver = drivers.get(handle.driver)
  if (driver === undefined) {
    return { kind: 'lost', reason: `the driver ${handle.driver} is gone` }
  }
  return driver.recover(handle).catch((thrown: unknown) => {
    return { kind: 'lost', reason: messageOf(thrown) } as const
  })
}

export function getDriver(drivers: Drivers, name: string): TaskDriver {
  const driver = drivers.get(name)
  if (driver !== undefined) return driver
  throw new Fault('task-unstartable', `this node has no driver ${JSON.stringify(name)}`)
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
