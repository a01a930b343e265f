import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { canSweep, type TaskDriver, type TaskHandle } from './driver.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Log } from './log.ts'
import { withDeadline } from './wait.ts'

interface SweepOptions {
  readonly drivers: readonly TaskDriver[]
  readonly clock: Clock
  readonly log: Log
}

/**
 * Ends what runs and is in no record: the data directory was removed under it. A driver that cannot
 * do so now is no reason to run nothing.
 */
export async function sweepDrivers(
  handles: readonly (TaskHandle | null)[],
  { drivers, clock, log }: SweepOptions,
): Promise<void> {
  const known = new Set(handles.map((handle) => handle?.id ?? ''))
  for (const driver of drivers.filter(canSweep)) {
    const { name } = driver
    const deadline = { clock, ms: AGENT_LIMITS.sweepMsMax, what: `the sweep of ${name}` }
    await withDeadline(driver.sweep(known), deadline).catch((thrown: unknown) => {
      log.warn({ driver: name, error: errorMessage(thrown) }, 'what was left of tasks is not ended')
    })
  }
}
