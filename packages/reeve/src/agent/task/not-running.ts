import { Fault } from '@reeve/kit/fault.ts'

/** For whoever wants something of a process that is not there. */
export function notRunning(task: string): Fault {
  return new Fault('task-not-running', `task ${JSON.stringify(task)} is not running`)
}
