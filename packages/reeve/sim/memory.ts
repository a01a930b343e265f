import type { MemoryUse } from '@reeve/kit/memory-level.ts'
import type { Commit } from '../src/state/index.ts'
import type { Draws } from './draws.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** The memory of a server's machine. It outlives the process. */
export interface SimMemory {
  /** The used share of what the process may use. */
  share: number
}

const MEMORY_MAX = 2 ** 30
const SHORT_MS_MAX = 60_000

interface Pressure {
  readonly draws: Draws
  readonly clock: VirtualClock
  /** Nothing goes wrong any more. */
  readonly isOver: () => boolean
  readonly changed: () => void
}

/** Memory is nearly or entirely used for a while, then less; not always by enough to grow again. */
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

export function memoryUse({ share }: SimMemory): MemoryUse {
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

/** Knows which commits a leader made while its memory was short: none of them places anything. */
export class GrowthCheck {
  readonly #shortages: Shortage[] = []
  /** What others wrote while this server followed them is theirs. */
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

  /** The allocation that was placed though memory was short; undefined when all is well. */
  findPlaced({ index, rows }: Commit): string | undefined {
    if (index <= this.#leadsFrom) return undefined
    if (!this.#shortages.some(({ fromIndex, toIndex }) => fromIndex < index && index <= toIndex))
      return undefined
    return rows.find(({ table, header }) => table === 'allocations' && header?.[0] === index)?.key
  }
}
