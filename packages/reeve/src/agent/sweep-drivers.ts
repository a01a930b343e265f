import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { killsOrphans, type TaskDriver, type TaskHandle } from './driver.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Logger } from './log.ts'
import { withTimeout } from './wait.ts'

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
