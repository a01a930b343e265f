import type { ExecRequest } from '../task-session.ts'
import type { TaskHook } from '../task/task-hook.ts'
import type { NodeServices } from './node-services.ts'

/** A task's services are registered after it started, and taken out before it is told to end. */
export function serviceHook(services: NodeServices): TaskHook {
  return {
    name: 'services',
    once: false,
    async afterStart({ assignment, task, environment }, running) {
      const { address } = running
      const exec = (request: ExecRequest) => running.exec(request)
      services.taskStarted(assignment.allocation.ID, { task, environment, address, exec })
      await Promise.resolve()
    },
    async beforeStop({ assignment, task }) {
      services.taskEnding(assignment.allocation.ID, task.Name)
      await Promise.resolve()
    },
    async afterExit({ assignment, task }) {
      services.taskEnding(assignment.allocation.ID, task.Name)
      await Promise.resolve()
    },
  }
}
