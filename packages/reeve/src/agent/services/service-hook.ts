import type { ExecRequest } from '../task-session.ts'
import type { TaskHook } from '../task/task-hook.ts'
import type { NodeServices } from './node-services.ts'

/** Registers services after the start of a task, and deregisters them before it is stopped. */
export function newServiceHook(services: NodeServices): TaskHook {
  return {
    name: 'services',
    runsOnce: false,
    async afterStart({ assignment, task, environment }, running) {
      const { address } = running
      const exec = (request: ExecRequest) => running.exec(request)
      services.onTaskStarted(assignment.allocation.ID, { task, environment, address, exec })
      await Promise.resolve()
    },
    async beforeStop({ assignment, task }) {
      services.onTaskStopping(assignment.allocation.ID, task.Name)
      await Promise.resolve()
    },
    async afterExit({ assignment, task }) {
      services.onTaskStopping(assignment.allocation.ID, task.Name)
      await Promise.resolve()
    },
  }
}
