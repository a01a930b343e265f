/** Memory of this process, in bytes. */
export interface MemoryUse {
  /** What the old generation of the heap holds now, garbage included. */
  readonly heapUsed: number
  /** What it held after the last full collection; undefined before the first one. */
  readonly heapLive: number | undefined
  /** How large the old generation may become. */
  readonly heapLimit: number
  /** Resident memory that is not the heap's: buffers, threads, code. */
  readonly outsideHeap: number
  /** What the process may use: of its container, of the machine, or as the operator says. */
  readonly memoryMax: number
}

/** From here on operators are warned. */
const HIGH = 0.8
/**
 * From here on the state does not grow: what is left is needed to serve reads and deletes, and for
 * the holes between objects that a heap has.
 */
const FULL = 0.9
/** A full state stays full until it is below this: growing by turns would help nobody. */
const ROOM_AGAIN = 0.85

export type MemoryLevel = 'normal' | 'high' | 'full'

/** The used share of the heap or of the memory, whichever is larger, garbage not counted. */
export function usedShare({ heapUsed, heapLive, heapLimit, ...use }: MemoryUse): number {
  const live = Math.min(heapUsed, heapLive ?? heapUsed)
  return Math.max(live / heapLimit, (live + use.outsideHeap) / use.memoryMax)
}

/** The share with garbage: a collection may be due that nobody has asked for. */
export function usedShareWithGarbage(use: MemoryUse): number {
  return usedShare({ ...use, heapLive: undefined })
}

/** So full that it does not matter how much of it is garbage: a collection is about to tell. */
const NO_ROOM = 0.97

/** The used share, as far as it is known without a collection. */
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
