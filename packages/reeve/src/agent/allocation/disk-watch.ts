import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Log } from '../log.ts'
import { pause } from '../wait.ts'

interface DiskWatchOptions {
  readonly clock: Clock
  readonly log: Log
  readonly limitMB: number
  /** Bytes on the disk. */
  measure(): Promise<number>
  /** It has just become too much. */
  exceeded(usedMB: number): void
  readonly signal: AbortSignal
}

/**
 * The size of the disk is reserved, not enforced, so a group that takes more is told, once each
 * time it grows beyond.
 */
export async function watchDisk(options: DiskWatchOptions): Promise<void> {
  const { clock, log, limitMB, signal } = options
  if (limitMB <= 0) return
  let isOver = false
  while (await pause(clock, AGENT_LIMITS.diskLookMs, signal)) {
    try {
      const usedMB = Math.ceil((await options.measure()) / (1024 * 1024))
      if (usedMB > limitMB && !isOver && !signal.aborted) options.exceeded(usedMB)
      isOver = usedMB > limitMB
    } catch (thrown) {
      log.warn({ error: errorMessage(thrown) }, 'disk of an allocation not measured')
    }
  }
}
