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

/** Reference scheduling §39: how many of the ended ones have to go, the oldest first. */
export function chooseGarbage(
  allocations: readonly Collectable[],
  { diskPercent, inodePercent }: DiskFill,
): readonly string[] {
  const ended = allocations
    .filter(({ endedMs }) => endedMs !== undefined)
    .toSorted((a, b) => (a.endedMs ?? 0) - (b.endedMs ?? 0) || (a.id < b.id ? -1 : 1))
  const isFull =
    diskPercent > AGENT_LIMITS.garbageDiskPercent || inodePercent > AGENT_LIMITS.garbageInodePercent
  const surplus = allocations.length - AGENT_LIMITS.garbageAllocations
  // A disk is relieved step by step: how much one removal frees is known only after it.
  const count = Math.max(surplus, isFull ? AGENT_LIMITS.garbageAtOnce : 0)
  return ended.slice(0, Math.max(0, count)).map(({ id }) => id)
}

interface GarbageWatchOptions {
  readonly clock: Clock
  readonly log: Log
  allocations(): readonly Collectable[]
  fill(): Promise<DiskFill>
  collect(id: string): Promise<unknown>
}

/** Removes what ended allocations left, when the node runs out of room for it. */
export class GarbageWatch {
  readonly #options: GarbageWatchOptions
  readonly #stopping = new AbortController()
  /** Removed already: their records stay until the servers forget them, and take no room. */
  #collected: ReadonlySet<string> = new Set()
  #running: Promise<void> = Promise.resolve()

  constructor(options: GarbageWatchOptions) {
    this.#options = options
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
    while (await pause(clock, AGENT_LIMITS.garbageLookMs, this.#stopping.signal)) {
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
    )
    const known = new Set(all.map(({ id }) => id))
    this.#collected = new Set([...this.#collected, ...ids].filter((id) => known.has(id)))
    const slots = new Slots(AGENT_LIMITS.garbageAtOnce)
    await Promise.all(ids.map((id) => slots.run(() => this.#options.collect(id))))
  }
}
