import type { Clock } from '../../kit/clock.ts'
import { messageOf } from '../../kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Log } from '../log.ts'
import { pause, Slots } from '../wait.ts'

/** An allocation as far as its removal is concerned. */
export interface Collectable {
  readonly id: string
  /** When its last task ended; undefined while it is not over: such ones always stay. */
  readonly endedMs: number | undefined
}

export interface DiskFill {
  readonly diskPercent: number
  readonly inodePercent: number
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

/** Reference scheduling §39: how many of the ended ones have to go, the oldest first. */
export function chooseGarbage(
  allocations: readonly Collectable[],
  { diskPercent, inodePercent }: DiskFill,
  thresholds: GarbageThresholds = THRESHOLDS,
): readonly string[] {
  const ended = allocations
    .filter(({ endedMs }) => endedMs !== undefined)
    .toSorted((a, b) => (a.endedMs ?? 0) - (b.endedMs ?? 0) || (a.id < b.id ? -1 : 1))
  const isFull = diskPercent > thresholds.diskPercent || inodePercent > thresholds.inodePercent
  const surplus = allocations.length - thresholds.allocations
  // A disk is relieved step by step: how much one removal frees is known only after it.
  const count = Math.max(surplus, isFull ? thresholds.atOnce : 0)
  return ended.slice(0, Math.max(0, count)).map(({ id }) => id)
}

interface GarbageWatchOptions {
  readonly clock: Clock
  readonly log: Log
  readonly thresholds?: GarbageThresholds
  allocations(): readonly Collectable[]
  fill(): Promise<DiskFill>
  collect(id: string): Promise<unknown>
}

/** Removes what ended allocations left, when the node runs out of room for it. */
export class GarbageWatch {
  readonly #options: GarbageWatchOptions
  readonly #thresholds: GarbageThresholds
  readonly #stopping = new AbortController()
  /** Removed already: their records stay until the servers forget them, and take no room. */
  #collected: ReadonlySet<string> = new Set()
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
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options
    while (await pause(clock, this.#thresholds.lookMs, this.#stopping.signal)) {
      await this.look().catch((thrown: unknown) => {
        log.warn({ error: messageOf(thrown) }, 'ended allocations not collected')
      })
    }
  }

  /** Looks now; also to be called when new work arrives. */
  async look(): Promise<void> {
    const room = await this.#options.fill()
    const all = this.#options.allocations()
    const ids = chooseGarbage(
      all.filter(({ id }) => !this.#collected.has(id)),
      room,
      this.#thresholds,
    )
    const known = new Set(all.map(({ id }) => id))
    this.#collected = new Set([...this.#collected, ...ids].filter((id) => known.has(id)))
    const slots = new Slots(this.#thresholds.atOnce)
    await Promise.all(ids.map((id) => slots.run(() => this.#options.collect(id))))
  }
}
