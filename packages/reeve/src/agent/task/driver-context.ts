import { Fault } from '@reeve/kit/fault.ts'
import type { DriverContext, TaskDriver } from '../driver.ts'
import type { TaskRecorder } from './task-ledger.ts'

/** Context for a driver; its reports become events of the task. */
export function newDriverContext(recorder: TaskRecorder, signal: AbortSignal): DriverContext {
  return { signal, report: (message) => recorder.emitEvent('Driver', { DriverMessage: message }) }
}

export function getDriver(drivers: ReadonlyMap<string, TaskDriver>, name: string): TaskDriver {
  const driver = drivers.get(name)
  if (driver !== undefined) return driver
  throw new Fault('task-unstartable', `this node has no driver ${JSON.stringify(name)}`)
}
