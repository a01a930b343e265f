import { Fault } from '@reeve/kit/fault.ts'

/** Fault for operations that need a running process. */
export function notRunningFault(task: string): Fault {
  return new Fault('task-not-running', `task ${JSON.stringify(task)} is not running`)
}
