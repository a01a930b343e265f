import { assert } from './fault.ts'

/** Maximum size of a single map. Growing one of this size takes less than a millisecond. */
export const ONE_MAP_ENTRIES_MAX = 4_096
/** A power of two. */
const PARTS = 64

/**
 * A map that grows without long pauses. A full `Map` copies all its entries into one of twice the
 * size, which blocks the thread: 12 ms at 131,000 entries, 160 ms at a million, and tables that are
 * filled together grow at the same moment. Shards grow one at a time
 * (docs/contributing/measurements/commits-and-log.md).
 */
export class StaggeredMap<Value> {
  #parts: readonly Map<string, Value>[] = [new Map()]
  #size = 0

  get size(): number {
    return this.#size
  }

  has(key: string): boolean {
    return this.#partOf(key)?.has(key) ?? false
  }

  get(key: string): Value | undefined {
    return this.#partOf(key)?.get(key)
  }

  set(key: string, value: Value): void {
    const part = this.#partOf(key)
    assert(part !== undefined, 'every key has a part')
    const before = part.size
    part.set(key, value)
    this.#size += part.size - before
    if (this.#parts.length === 1 && this.#size > ONE_MAP_ENTRIES_MAX) this.#divide(part)
  }

  delete(key: string): boolean {
    const isGone = this.#partOf(key)?.delete(key) ?? false
    if (isGone) this.#size--
    return isGone
  }

  #partOf(key: string): Map<string, Value> | undefined {
    const parts = this.#parts
    return parts[parts.length === 1 ? 0 : partNumber(key)]
  }

  #divide(whole: Map<string, Value>): void {
    const parts = Array.from({ length: PARTS }, () => new Map<string, Value>())
    for (const [key, value] of whole) parts[partNumber(key)]?.set(key, value)
    this.#parts = parts
  }
}

/** FNV-1a over the whole key: keys of one table may differ in a single character anywhere. */
function partNumber(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (PARTS - 1)
}
