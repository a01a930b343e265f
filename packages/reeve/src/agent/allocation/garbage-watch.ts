import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Log } from '../log.ts'
import type { DiskFill } from '../store/disk-fill.ts'
import { pause, Slots } from '../wait.ts'

/** An allocation as far as its removal is concerned. */
export interface Collectable {
  readonly id: string
  /** When its last task ended; undefined while it has to stay. */
  readonly endedMs: number | undefined
}

interface Ended {
  readonly id: string
  readonly endedMs: number | undefined
  readonly group: {
    readonly EphemeralDisk?: { readonly Sticky: boolean; readonly Migrate: boolean } | null
  }
}

/**
 * Data that the next allocation may come for is kept a while, on a node that is drained because it
 * is full as well.
 */
export function asCollectable({ id, endedMs, group }: Ended, nowMs: number): Collectable {
  const { Sticky = false, Migrate = false } = group.EphemeralDisk ?? {}
  const isAwaited =
    (Sticky || Migrate) && endedMs !== undefined && nowMs - endedMs < AGENT_LIMITS.garbageDataMs
  return { id, endedMs: isAwaited ? undefined : endedMs }
}

/** When what ended allocations left is removed, and how. */
export interface GarbageThresholds {
  readonly lookMs: number
  readonly diskPercent: number
  readonly inodePercent: number
  readonly allocations: number
  readonly atOnce: number
}

/** For a node whose operator says nothing. */
const THRESHOLDS: GarbageThresholds = {
  lookMs: AGENT_LIMITS.garbageLookMs,
  diskPercent: AGENT_LIMITS.garbageDiskPercent,
  inodePercent: AGENT_LIMITS.garbageInodePercent,
  allocations: AGENT_LIMITS.garbageAllocations,
  atOnce: AGENT_LIMITS.garbageAtOnce,
}

/**
 * The ended ones that have to go, the oldest first. Those that run do not count: a node full of
 * services would remove the logs of every batch task as soon as it has ended.
 */
export function chooseGarbage(
  allocations: readonly Collectable[],
  fill: DiskFill,
  thresholds: GarbageThresholds = THRESHOLDS,
): readonly string[] {
  const ended = allocations
    .filter(({ endedMs }) => endedMs !== undefined)
    .toSorted((a, b) => (a.endedMs ?? 0) - (b.endedMs ?? 0) || (a.id < b.id ? -1 : 1))
  const surplus = ended.length - thresholds.allocations
  // A disk is relieved step by step: how much one removal frees is known only after it.
  const count = Math.max(surplus, isOver(fill, thresholds) ? thresholds.atOnce : 0)
  return ended.slice(0, Math.max(0, count)).map(({ id }) => id)
}

interface GarbageWatchOptions {
  readonly clock: Clock
  readonly log: Log
  readonly thresholds?: GarbageThresholds
  /** Those whose directories are here; what was removed already takes no room. */
  allocations(): readonly Collectable[]
  fill(): Promise<DiskFill>
  /** False when there was nothing that may be removed. */
  collect(id: string): Promise<boolean>
}

/** Removes what ended allocations left, when the node runs out of room for it. */
export class GarbageWatch {
  readonly #options: GarbageWatchOptions
  readonly #thresholds: GarbageThresholds
  readonly #stopping = new AbortController()
  #woken = new AbortController()
  #isFullTold = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: GarbageWatchOptions) {
    this.#options = options
    this.#thresholds = options.thresholds ?? THRESHOLDS
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#woken.abort()
    await this.#running
  }

  /** New work has come, and may need the room. */
  lookSoon(): void {
    this.#woken.abort()
  }

  async #run(): Promise<void> {
    const { log } = this.#options
    while (await this.#isDue()) {
      await this.#look().catch((thrown: unknown) => {
        log.warn({ error: errorMessage(thrown) }, 'ended allocations not collected')
      })
    }
  }

  /** True when it is time to look again, false when there is no more to look for. */
  async #isDue(): Promise<boolean> {
    const { clock } = this.#options
    const { signal } = this.#stopping
    // Stopping wakes it too. A combined signal would be kept alive by the runtime while it waits.
    const hasPassed = await pause(clock, this.#thresholds.lookMs, this.#woken.signal)
    if (signal.aborted) return false
    if (hasPassed) return true
    // Work comes in bursts: one look is for all of it.
    const isSoon = await pause(clock, AGENT_LIMITS.garbageSoonMs, signal)
    this.#woken = new AbortController()
    return isSoon
  }

  /** Goes on until there is room or nothing is left to remove; each is tried once in a look. */
  async #look(): Promise<void> {
    const tried = new Set<string>()
    while (!this.#stopping.signal.aborted) {
      const fill = await this.#options.fill()
      const left = this.#options.allocations().filter(({ id }) => !tried.has(id))
      const ids = chooseGarbage(left, fill, this.#thresholds)
      if (ids.length === 0) {
        this.#tellFull(fill)
        return
      }
      for (const id of ids) tried.add(id)
      const slots = new Slots(this.#thresholds.atOnce)
      await Promise.all(ids.map((id) => slots.run(() => this.#collect(id, fill))))
    }
  }

  /** One that cannot be removed is no reason to keep the others. */
  async #collect(id: string, fill: DiskFill): Promise<void> {
    const { log } = this.#options
    try {
      const isRemoved = await this.#options.collect(id)
      if (isRemoved) log.info({ allocation: id, ...rounded(fill) }, 'removed an ended allocation')
    } catch (thrown) {
      const fields = { allocation: id, error: errorMessage(thrown) }
      log.warn(fields, 'what an ended allocation left is not removed')
    }
  }

  /** Once each time it becomes so: what takes the room now, nothing here may remove. */
  #tellFull(fill: DiskFill): void {
    const isFull = isOver(fill, this.#thresholds)
    if (isFull && !this.#isFullTold)
      this.#options.log.warn(
        { ...rounded(fill) },
        'the disk of this node is full, and no ended allocation is left to remove',
      )
    this.#isFullTold = isFull
  }
}

function isOver({ diskPercent, inodePercent }: DiskFill, thresholds: GarbageThresholds): boolean {
  return diskPercent > thresholds.diskPercent || inodePercent > thresholds.inodePercent
}

function rounded({ diskPercent, inodePercent }: DiskFill): DiskFill {
  return { diskPercent: Math.round(diskPercent), inodePercent: Math.round(inodePercent) }
}
