import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Logger } from '../log.ts'
import type { DiskUsagePercent } from '../store/disk-usage.ts'
import { sleep, Semaphore } from '../timing.ts'

/** An allocation as the garbage collector sees it. */
export interface Collectable {
  readonly id: string
  /** When the last task ended; undefined while the allocation must be kept. */
  readonly endedMs: number | undefined
}

interface EndedAllocation {
  readonly id: string
  readonly endedMs: number | undefined
  readonly group: {
    readonly EphemeralDisk?: { readonly Sticky: boolean; readonly Migrate: boolean } | null
  }
}

/**
 * Keeps data that the next allocation may fetch for a while, even on a node that is drained because
 * its disk is full.
 */
export function asCollectable({ id, endedMs, group }: EndedAllocation, nowMs: number): Collectable {
  const { Sticky = false, Migrate = false } = group.EphemeralDisk ?? {}
  const isRetained =
    (Sticky || Migrate) &&
    endedMs !== undefined &&
    nowMs - endedMs < AGENT_LIMITS.gcMigrationDataRetentionMs
  return { id, endedMs: isRetained ? undefined : endedMs }
}

/** Thresholds and limits of garbage collection. */
export interface GcThresholds {
  readonly intervalMs: number
  readonly diskPercent: number
  readonly inodePercent: number
  readonly allocationsMax: number
  readonly parallelDestroys: number
}

/** Used unless the operator configures other thresholds. */
const DEFAULT_GC_THRESHOLDS: GcThresholds = {
  intervalMs: AGENT_LIMITS.gcIntervalMs,
  diskPercent: AGENT_LIMITS.gcDiskUsagePercent,
  inodePercent: AGENT_LIMITS.gcInodeUsagePercent,
  allocationsMax: AGENT_LIMITS.gcAllocationsMax,
  parallelDestroys: AGENT_LIMITS.gcParallelDestroys,
}

/**
 * Chooses the terminal allocations to collect, oldest first. Running ones do not count: otherwise a
 * node full of services would remove the logs of every batch task as soon as it has ended.
 */
export function chooseToCollect(
  allocations: readonly Collectable[],
  usage: DiskUsagePercent,
  thresholds: GcThresholds = DEFAULT_GC_THRESHOLDS,
): readonly string[] {
  const ended = allocations
    .filter(({ endedMs }) => endedMs !== undefined)
    .toSorted((a, b) => (a.endedMs ?? 0) - (b.endedMs ?? 0) || (a.id < b.id ? -1 : 1))
  const excess = ended.length - thresholds.allocationsMax
  // Frees the disk in steps: how much a removal frees is known only afterwards.
  const count = Math.max(
    excess,
    isAboveThreshold(usage, thresholds) ? thresholds.parallelDestroys : 0,
  )
  return ended.slice(0, Math.max(0, count)).map(({ id }) => id)
}

interface GarbageCollectorOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly thresholds?: GcThresholds
  /** Allocations whose directories exist; collected ones use no space. */
  allocations(): readonly Collectable[]
  diskUsage(): Promise<DiskUsagePercent>
  /** Removes an allocation; returns false if there was nothing to remove. */
  destroy(id: string): Promise<boolean>
}

/** Removes the data of terminal allocations when the node runs out of space. */
export class AllocationGarbageCollector {
  readonly #options: GarbageCollectorOptions
  readonly #thresholds: GcThresholds
  readonly #stopping = new AbortController()
  #wakeUp = new AbortController()
  #hasWarnedFull = false
  #loop: Promise<void> = Promise.resolve()

  constructor(options: GarbageCollectorOptions) {
    this.#options = options
    this.#thresholds = options.thresholds ?? DEFAULT_GC_THRESHOLDS
  }

  start(): void {
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wakeUp.abort()
    await this.#loop
  }

  /** Runs soon: a new allocation may need the space. */
  runSoon(): void {
    this.#wakeUp.abort()
  }

  async #run(): Promise<void> {
    const { log } = this.#options
    while (await this.#waitForNextRun()) {
      await this.#collectAll().catch((thrown: unknown) => {
        log.warn({ error: errorMessage(thrown) }, 'ended allocations not collected')
      })
    }
  }

  /** Waits for the next run. Returns true when it is due, false after stop. */
  async #waitForNextRun(): Promise<boolean> {
    const { clock } = this.#options
    const { signal } = this.#stopping
    // Stopping aborts this signal too. A combined signal would be kept alive by the runtime.
    const hasPassed = await sleep(clock, this.#thresholds.intervalMs, this.#wakeUp.signal)
    if (signal.aborted) return false
    if (hasPassed) return true
    // Allocations arrive in bursts: wait to handle them in one run.
    const wasNotStopped = await sleep(clock, AGENT_LIMITS.gcAfterNewAllocationMs, signal)
    this.#wakeUp = new AbortController()
    return wasNotStopped
  }

  /** Collects until the thresholds are met or nothing is left; each allocation is tried once. */
  async #collectAll(): Promise<void> {
    const tried = new Set<string>()
    while (!this.#stopping.signal.aborted) {
      const usage = await this.#options.diskUsage()
      const remaining = this.#options.allocations().filter(({ id }) => !tried.has(id))
      const ids = chooseToCollect(remaining, usage, this.#thresholds)
      if (ids.length === 0) {
        this.#warnIfFull(usage)
        return
      }
      for (const id of ids) tried.add(id)
      const semaphore = new Semaphore(this.#thresholds.parallelDestroys)
      await Promise.all(ids.map((id) => semaphore.run(() => this.#destroy(id, usage))))
    }
  }

  /** Removes one allocation. A failure does not keep the others from being removed. */
  async #destroy(id: string, usage: DiskUsagePercent): Promise<void> {
    const { log } = this.#options
    try {
      const isRemoved = await this.#options.destroy(id)
      if (isRemoved)
        log.info({ allocation: id, ...roundedPercentages(usage) }, 'removed an ended allocation')
    } catch (thrown) {
      const fields = { allocation: id, error: errorMessage(thrown) }
      log.warn(fields, 'what an ended allocation left is not removed')
    }
  }

  /** Warns once each time the disk becomes full with nothing left to collect. */
  #warnIfFull(usage: DiskUsagePercent): void {
    const isFull = isAboveThreshold(usage, this.#thresholds)
    if (isFull && !this.#hasWarnedFull)
      this.#options.log.warn(
        { ...roundedPercentages(usage) },
        'the disk of this node is full, and no ended allocation is left to remove',
      )
    this.#hasWarnedFull = isFull
  }
}

function isAboveThreshold(
  { diskPercent, inodePercent }: DiskUsagePercent,
  thresholds: GcThresholds,
): boolean {
  return diskPercent > thresholds.diskPercent || inodePercent > thresholds.inodePercent
}

function roundedPercentages({ diskPercent, inodePercent }: DiskUsagePercent): DiskUsagePercent {
  return { diskPercent: Math.round(diskPercent), inodePercent: Math.round(inodePercent) }
}
