import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { AgentTask, AgentTaskGroup } from './assignment.ts'
import { canReconcile, type NodeTasks, type ReconcilingDriver, type TaskDriver } from './driver.ts'
import type { Log } from './log.ts'
import type { TaskControl } from './task/task-control.ts'
import { pause } from './wait.ts'

interface ReconcileOptions {
  readonly drivers: readonly TaskDriver[]
  readonly clock: Clock
  readonly log: Log
  /** Aborted when the agent stops. */
  readonly stopping: AbortSignal
  allocations(): Iterable<AllocationTasks>
}

interface AllocationTasks {
  readonly id: string
  readonly group: AgentTaskGroup
  readonly tasks: readonly TaskControl[]
}

/** Lets each driver that can remove what nobody needs, every so often, until the agent stops. */
export async function reconcileDrivers(options: ReconcileOptions): Promise<void> {
  const drivers = options.drivers.filter(canReconcile)
  await Promise.all(drivers.map((driver) => reconcileEvery(driver, options)))
}

async function reconcileEvery(driver: ReconcilingDriver, options: ReconcileOptions): Promise<void> {
  const { clock, log, stopping } = options
  let complaint = ''
  while (await pause(clock, driver.reconcileMs, stopping)) {
    try {
      const tasks = tasksOf(driver.name, options.allocations())
      const { containers, images, isDryRun } = await driver.reconcile(tasks)
      const what = isDryRun ? 'dangling containers found (dry run)' : 'removed dangling containers'
      if (containers.length > 0) log.warn({ driver: driver.name, containers }, what)
      if (images.length > 0) log.info({ driver: driver.name, images }, 'removed unused images')
      complaint = ''
    } catch (thrown) {
      // An engine that is away says the same every time.
      const error = errorMessage(thrown)
      if (error !== complaint) log.warn({ driver: driver.name, error }, 'driver not reconciled')
      complaint = error
    }
  }
}

/** A task that is dead needs nothing, and a start that it could not end is not to go on. */
function tasksOf(driver: string, allocations: Iterable<AllocationTasks>): NodeTasks {
  const starts = new Set<string>()
  const living = new Set<string>()
  const configs: Readonly<Record<string, unknown>>[] = []
  for (const { id, group, tasks } of allocations) {
    for (const { name, record } of tasks) {
      if (record.state.State === 'dead') continue
      living.add(id)
      if (record.handle?.driver === driver) starts.add(record.handle.id)
      const task = group.Tasks.find((one: AgentTask) => one.Name === name)
      if (task?.Driver === driver) configs.push(task.Config ?? {})
    }
  }
  return { starts, allocations: living, configs }
}
