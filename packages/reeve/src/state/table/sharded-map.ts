import { assert } from '@reeve/kit/fault.ts'

/** Maximum size of a single map. Growing one of this size takes less than a millisecond. */
export const UNSHARDED_ENTRIES_MAX = 4_096
/** A power of two. */
const SHARD_COUNT = 64

/**
 * A map that grows without long pauses. A full `Map` copies all its entries into one of twice the
 * size, which blocks the thread: 12 ms at 131,000 entries, 160 ms at a million, and tables that are
 * filled together grow at the same moment. Shards grow one at a time
 * (docs/contributing/measurements/commits-and-log.md).
 */
export class ShardedMap<Value> {
  #shards: readonly Map<string, Value>[] = [new Map()]
  #size = 0

  get size(): number {
    return this.#size
  }

  has(key: string): boolean {
    return this.#shardOf(key)?.has(key) ?? false
  }

  get(key: string): Value | undefined {
    return this.#shardOf(key)?.get(key)
  }

  set(key: string, value: Value): void {
    const shard = this.#shardOf(key)
    assert(shard !== undefined, 'every key has a part')
    const before = shard.size
    shard.set(key, value)
    this.#size += shard.size - before
    if (this.#shards.length === 1 && this.#size > UNSHARDED_ENTRIES_MAX) this.#split(shard)
  }

  delete(key: string): boolean {
    const isDeleted = this.#shardOf(key)?.delete(key) ?? false
    if (isDeleted) this.#size--
    return isDeleted
  }

  #shardOf(key: string): Map<string, Value> | undefined {
    const shards = this.#shards
    return shards[shards.length === 1 ? 0 : shardIndex(key)]
  }

  #split(map: Map<string, Value>): void {
    const shards = Array.from({ length: SHARD_COUNT }, () => new Map<string, Value>())
    for (const [key, value] of map) shards[shardIndex(key)]?.set(key, value)
    this.#shards = shards
  }
}

/** FNV-1a over the whole key: keys of one table may differ in a single character anywhere. */
function shardIndex(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (SHARD_COUNT - 1)
}
