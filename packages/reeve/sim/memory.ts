import type { MemoryUsage } from '@reeve/kit/memory-pressure.ts'
import type { Commit } from '../src/state/index.ts'
import type { Draws } from './draws.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** The memory of a server's machine. It outlives the process. */
export interface SimMemory {
  /** The used fraction of the available memory. */
  share: number
}

const MEMORY_MAX = 2 ** 30
const SHORT_MS_MAX = 60_000

interface Pressure {
  readonly draws: Draws
  readonly clock: VirtualClock
  /** Whether fault injection has ended. */
  readonly isOver: () => boolean
  readonly changed: () => void
}

/**
 * Uses nearly all or all memory for a while, then less; not always little enough for the state to
 * grow again.
 */
export function pressMemory(memory: SimMemory, { draws, clock, isOver, changed }: Pressure): void {
  memory.share = draws.choose(0.82, 0.92, 0.96)
  const after = draws.choose(0.5, 0.8, 0.87)
  changed()
  clock.after(draws.between(1_000, SHORT_MS_MAX), () => {
    if (isOver()) return
    memory.share = after
    changed()
  })
}

export function memoryUse({ share }: SimMemory): MemoryUsage {
  return {
    heapUsed: share * MEMORY_MAX,
    heapLive: undefined,
    heapLimit: MEMORY_MAX,
    outsideHeap: 0,
    memoryMax: MEMORY_MAX,
  }
}

interface Shortage {
  readonly fromIndex: number
  toIndex: number
}

/** Invariant: a leader places nothing while its memory is short. */
export class GrowthCheck {
  readonly #shortages: Shortage[] = []
  /** Earlier commits were made by other leaders. */
  #leadsFrom = Number.POSITIVE_INFINITY

  leads(index: number): void {
    this.#leadsFrom = index
  }

  begin(fromIndex: number): void {
    this.#shortages.push({ fromIndex, toIndex: Number.POSITIVE_INFINITY })
  }

  end(toIndex: number): void {
    const last = this.#shortages.at(-1)
    if (last !== undefined) last.toIndex = Math.min(last.toIndex, toIndex)
  }

  /** The allocation that was placed during a shortage; undefined if there is none. */
  findPlaced({ index, rows }: Commit): string | undefined {
    if (index <= this.#leadsFrom) return undefined
    if (!this.#shortages.some(({ fromIndex, toIndex }) => fromIndex < index && index <= toIndex))
      return undefined
    return rows.find(({ table, header }) => table === 'allocations' && header?.[0] === index)?.key
  }
}
