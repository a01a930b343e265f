/** Memory usage of this process in bytes. */
export interface MemoryUsage {
  /** Used bytes of the old generation, including garbage. */
  readonly heapUsed: number
  /**
   * Used bytes of the old generation after the last full collection; undefined before the first
   * one.
   */
  readonly heapLive: number | undefined
  /** Maximum size of the old generation. */
  readonly heapLimit: number
  /** Resident memory outside the heap: buffers, threads, code. */
  readonly outsideHeap: number
  /** Memory limit of the process: of its container, of the machine, or configured. */
  readonly memoryMax: number
}

/** At this fraction operators are warned. */
const WARNING_FRACTION = 0.8
/**
 * At this fraction the state stops growing. The rest is needed for reads, deletes and heap
 * fragmentation.
 */
const FULL_FRACTION = 0.9
/** A full state stays full until usage falls below this fraction, so that it does not oscillate. */
const RECOVERED_FRACTION = 0.85

export type MemoryLevel = 'normal' | 'high' | 'full'

/** Used fraction of the heap or of the memory limit, whichever is larger, without garbage. */
export function usedFraction({ heapUsed, heapLive, heapLimit, ...use }: MemoryUsage): number {
  const live = Math.min(heapUsed, heapLive ?? heapUsed)
  return Math.max(live / heapLimit, (live + use.outsideHeap) / use.memoryMax)
}

/** Used fraction including garbage, for when a collection is due but has not run. */
export function usedFractionWithGarbage(use: MemoryUsage): number {
  return usedFraction({ ...use, heapLive: undefined })
}

/**
 * At this fraction garbage no longer matters: a collection is imminent and will measure the rest.
 */
const EXHAUSTED_FRACTION = 0.97

/** Best estimate of the used fraction without forcing a collection. */
export function estimatedUsedFraction(use: MemoryUsage): number {
  const withGarbage = usedFractionWithGarbage(use)
  return withGarbage >= EXHAUSTED_FRACTION ? withGarbage : usedFraction(use)
}

export function nextMemoryLevel(before: MemoryLevel, share: number): MemoryLevel {
  if (share >= FULL_FRACTION || (before === 'full' && share >= RECOVERED_FRACTION)) return 'full'
  return share >= WARNING_FRACTION ? 'high' : 'normal'
}

export function isNearlyFull(share: number): boolean {
  return share >= FULL_FRACTION
}

/**
 * Whether the state may grow. The memory watcher sets the reason when memory is short; requests
 * that add to the state are then rejected with that reason, and the scheduler places no
 * allocations.
 */
export class StateCapacity {
  #shortage: string | undefined
  #warning: string | undefined

  /** @param reason which resource runs short and what to do, while the state may still grow */
  setWarning(reason: string | undefined): void {
    this.#warning = reason
  }

  /**
   * @param reason which resource is exhausted and what to do; undefined when there is enough again
   */
  setShortage(reason: string | undefined): void {
    this.#shortage = reason
  }

  /** Why memory runs short or the state may not grow; undefined if there is enough. */
  get warning(): string | undefined {
    return this.#shortage ?? this.#warning
  }

  /** Why the state may not grow; undefined if it may. */
  get shortage(): string | undefined {
    return this.#shortage
  }
}
