import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { AgentTask, AgentTaskGroup } from './assignment.ts'
import {
  isReconcilingDriver,
  killsOrphans,
  type LiveTasks,
  type ReconcilingDriver,
  type TaskDriver,
  type TaskHandle,
} from './driver.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Logger } from './log.ts'
import type { TaskControl } from './task/task-control.ts'
import { sleep, withTimeout } from './timing.ts'

interface ReconcileOptions {
  readonly drivers: readonly TaskDriver[]
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the agent stops. */
  readonly stopping: AbortSignal
  runningAllocations(): Iterable<AllocationWithTasks>
}

interface AllocationWithTasks {
  readonly id: string
  readonly group: AgentTaskGroup
  readonly tasks: readonly TaskControl[]
}

/** Runs the reconcile loop of every driver that has one, until the agent stops. */
export async function reconcileDrivers(options: ReconcileOptions): Promise<void> {
  const drivers = options.drivers.filter(isReconcilingDriver)
  await Promise.all(drivers.map((driver) => runReconcileLoop(driver, options)))
}

async function runReconcileLoop(
  driver: ReconcilingDriver,
  options: ReconcileOptions,
): Promise<void> {
  const { clock, log, stopping } = options
  let lastError = ''
  while (await sleep(clock, driver.reconcileIntervalMs, stopping)) {
    try {
      const tasks = liveTasksOf(driver.name, options.runningAllocations())
      const { removedContainers, removedImages, isDryRun } = await driver.reconcile(tasks)
      const message = isDryRun
        ? 'dangling containers found (dry run)'
        : 'removed dangling containers'
      if (removedContainers.length > 0)
        log.warn({ driver: driver.name, containers: removedContainers }, message)
      if (removedImages.length > 0)
        log.info({ driver: driver.name, images: removedImages }, 'removed unused images')
      lastError = ''
    } catch (thrown) {
      // An unreachable engine fails the same way every time; log it once.
      const error = errorMessage(thrown)
      if (error !== lastError) log.warn({ driver: driver.name, error }, 'driver not reconciled')
      lastError = error
    }
  }
}

/**
 * Collects what the driver must keep. Dead tasks need nothing, nor does a start they could not
 * stop.
 */
function liveTasksOf(driver: string, allocations: Iterable<AllocationWithTasks>): LiveTasks {
  const handleIds = new Set<string>()
  const liveAllocationIds = new Set<string>()
  const configs: Readonly<Record<string, unknown>>[] = []
  for (const { id, group, tasks } of allocations) {
    for (const { name, record } of tasks) {
      if (record.state.State === 'dead') continue
      liveAllocationIds.add(id)
      if (record.handle?.driver === driver) handleIds.add(record.handle.id)
      const task = group.Tasks.find((candidate: AgentTask) => candidate.Name === name)
      if (task?.Driver === driver) configs.push(task.Config ?? {})
    }
  }
  return { handleIds, allocationIds: liveAllocationIds, configs }
}

interface KillOrphansOptions {
  readonly drivers: readonly TaskDriver[]
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Kills tasks that run without a record, because the data directory was deleted. A driver that is
 * unavailable does not keep the agent from starting.
 */
export async function killOrphanedTasks(
  handles: readonly (TaskHandle | null)[],
  { drivers, clock, log }: KillOrphansOptions,
): Promise<void> {
  const knownHandleIds = new Set(handles.map((handle) => handle?.id ?? ''))
  for (const driver of drivers.filter(killsOrphans)) {
    const { name } = driver
    const deadline = {
      clock,
      timeoutMs: AGENT_LIMITS.killOrphansTimeoutMs,
      operation: `the sweep of ${name}`,
    }
    await withTimeout(driver.killOrphans(knownHandleIds), deadline).catch((thrown: unknown) => {
      log.warn({ driver: name, error: errorMessage(thrown) }, 'orphaned tasks not killed')
    })
  }
}
