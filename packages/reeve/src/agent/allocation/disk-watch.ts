import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Logger } from '../log.ts'
import { sleep } from '../wait.ts'

interface DiskWatchOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly limitMB: number
  /** Size of the allocation on disk in bytes. */
  measure(): Promise<number>
  /** Called when the usage has just exceeded the limit. */
  onExceeded(usedMB: number): void
  readonly signal: AbortSignal
}

/**
 * Reports when an allocation exceeds its disk size, once each time. The size is reserved, not
 * enforced.
 */
export async function watchDisk(options: DiskWatchOptions): Promise<void> {
  const { clock, log, limitMB, signal } = options
  if (limitMB <= 0) return
  let wasExceeded = false
  while (await sleep(clock, AGENT_LIMITS.diskCheckIntervalMs, signal)) {
    try {
      const usedMB = Math.ceil((await options.measure()) / (1024 * 1024))
      if (usedMB > limitMB && !wasExceeded && !signal.aborted) options.onExceeded(usedMB)
      wasExceeded = usedMB > limitMB
    } catch (thrown) {
      log.warn({ error: errorMessage(thrown) }, 'disk of an allocation not measured')
    }
  }
}
