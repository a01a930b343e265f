import { Fault } from '@reeve/kit/fault.ts'
import type { DriverContext, TaskDriver } from '../driver.ts'
import type { TaskLedger } from './task-ledger.ts'

/** The reports of a driver become events of the task. */
export function driverContext(ledger: TaskLedger, signal: AbortSignal): DriverContext {
  return { signal, report: (message) => ledger.note('Driver', { DriverMessage: message }) }
}

export function getDriver(drivers: ReadonlyMap<string, TaskDriver>, name: string): TaskDriver {
  const driver = drivers.get(name)
  if (driver !== undefined) return driver
  throw new Fault('task-unstartable', `this node has no driver ${JSON.stringify(name)}`)
}
