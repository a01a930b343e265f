import type { MemoryUsage } from '@reeve/kit/memory-pressure.ts'
import type { Commit } from '../src/state/index.ts'
import type { RandomStream } from './random-stream.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** The memory of a server's machine. It outlives the process. */
export interface SimMemory {
  /** The used fraction of the available memory. */
  share: number
}

const TOTAL_BYTES = 2 ** 30
const MAX_SHORTAGE_MS = 60_000

interface MemoryPressureOptions {
  readonly random: RandomStream
  readonly clock: VirtualClock
  /** Whether fault injection has ended. */
  readonly hasEnded: () => boolean
  readonly onChanged: () => void
}

/**
 * Uses nearly all or all memory for a while, then less; not always little enough for the state to
 * grow again.
 */
export function applyMemoryPressure(
  memory: SimMemory,
  { random, clock, hasEnded, onChanged }: MemoryPressureOptions,
): void {
  memory.share = random.choose(0.82, 0.92, 0.96)
  const shareAfterwards = random.choose(0.5, 0.8, 0.87)
  onChanged()
  clock.after(random.between(1_000, MAX_SHORTAGE_MS), () => {
    if (hasEnded()) return
    memory.share = shareAfterwards
    onChanged()
  })
}

export function memoryUsageOf({ share }: SimMemory): MemoryUsage {
  return {
    heapUsed: share * TOTAL_BYTES,
    heapLive: undefined,
    heapLimit: TOTAL_BYTES,
    outsideHeap: 0,
    memoryMax: TOTAL_BYTES,
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
  #leaderSinceIndex = Number.POSITIVE_INFINITY

  startLeading(index: number): void {
    this.#leaderSinceIndex = index
  }

  beginShortage(fromIndex: number): void {
    this.#shortages.push({ fromIndex, toIndex: Number.POSITIVE_INFINITY })
  }

  endShortage(toIndex: number): void {
    const last = this.#shortages.at(-1)
    if (last !== undefined) last.toIndex = Math.min(last.toIndex, toIndex)
  }

  /** The allocation that was placed during a shortage; undefined if there is none. */
  findPlaced({ index, rows }: Commit): string | undefined {
    if (index <= this.#leaderSinceIndex) return undefined
    if (!this.#shortages.some(({ fromIndex, toIndex }) => fromIndex < index && index <= toIndex))
      return undefined
    return rows.find(({ table, header }) => table === 'allocations' && header?.[0] === index)?.key
  }
}
