/** Memory usage of this process in bytes. */
export interface MemoryUse {
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
const HIGH = 0.8
/**
 * At this fraction the state stops growing. The rest is needed for reads, deletes and heap
 * fragmentation.
 */
const FULL = 0.9
/** A full state stays full until usage falls below this fraction, so that it does not oscillate. */
const ROOM_AGAIN = 0.85

export type MemoryLevel = 'normal' | 'high' | 'full'

/** Used fraction of the heap or of the memory limit, whichever is larger, without garbage. */
export function usedShare({ heapUsed, heapLive, heapLimit, ...use }: MemoryUse): number {
  const live = Math.min(heapUsed, heapLive ?? heapUsed)
  return Math.max(live / heapLimit, (live + use.outsideHeap) / use.memoryMax)
}

/** Used fraction including garbage, for when a collection is due but has not run. */
export function usedShareWithGarbage(use: MemoryUse): number {
  return usedShare({ ...use, heapLive: undefined })
}

/**
 * At this fraction garbage no longer matters: a collection is imminent and will measure the rest.
 */
const NO_ROOM = 0.97

/** Best estimate of the used fraction without forcing a collection. */
export function knownShare(use: MemoryUse): number {
  const withGarbage = usedShareWithGarbage(use)
  return withGarbage >= NO_ROOM ? withGarbage : usedShare(use)
}

export function nextMemoryLevel(before: MemoryLevel, share: number): MemoryLevel {
  if (share >= FULL || (before === 'full' && share >= ROOM_AGAIN)) return 'full'
  return share >= HIGH ? 'high' : 'normal'
}

export function isNearlyFull(share: number): boolean {
  return share >= FULL
}
