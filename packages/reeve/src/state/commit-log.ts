import { decodeCommit } from './commit-codec.ts'
import type { Commit } from './commit.ts'
import type { StorageEngine } from './engine.ts'
import { jsonLength } from './table/row-json.ts'

/**
 * Commits kept in memory for stream readers that are nearly up to date; older ones are read from
 * the engine. The number is small because commits kept longer than about 50 ms are promoted to the
 * old generation, where garbage collection took 5 % of a registration.
 */
const RECENT_COMMITS = 64
/**
 * Minimum number of batches kept, so that a reader catching up from the engine can switch to
 * memory.
 */
const RECENT_BATCHES = 2
const RECENT_CHARS_MAX = 32 * 1024 * 1024

type Listener = (commits: readonly Commit[]) => void

/** The durable commits in order: recent ones in memory, older ones in the engine. */
export class CommitLog {
  readonly #engine: StorageEngine
  readonly #recent: { readonly commit: Commit; readonly chars: number }[] = []
  readonly #listeners = new Set<Listener>()
  #recentChars = 0
  #firstIndex: number
  #lastIndex: number

  constructor(engine: StorageEngine) {
    this.#engine = engine
    this.#firstIndex = engine.initialPosition.firstIndex
    this.#lastIndex = engine.initialPosition.lastIndex
  }

  /** The oldest index that can still be read. */
  get firstIndex(): number {
    return this.#firstIndex
  }

  /** Calls `listener` with each batch of commits right after it became durable, in order. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Called by the store when these commits are durable. */
  add(commits: readonly Commit[]): void {
    for (const commit of commits) {
      let chars = 0
      for (const { text } of commit.rows) chars += jsonLength(text)
      this.#recent.push({ commit, chars })
      this.#recentChars += chars
      this.#lastIndex = commit.index
    }
    this.#evictOldest(Math.max(RECENT_COMMITS, RECENT_BATCHES * commits.length))
    for (const listener of this.#listeners) listener(commits)
  }

  /**
   * Durable commits with index ≥ `fromIndex`, ascending, up to the newest at the time of the call.
   */
  async *read(fromIndex: number): AsyncGenerator<Commit> {
    let next = fromIndex
    for (let previous = -1; previous !== next && !this.#isInMemory(next);) {
      previous = next
      for await (const entry of this.#engine.read(next)) {
        // Already on disk, but the engine has not confirmed it yet: listeners receive it later.
        if (entry.index > this.#lastIndex) return
        yield decodeCommit(entry.text)
        next = entry.index + 1
        if (this.#isInMemory(next)) break
      }
    }
    for (const { commit } of this.#recent.slice()) if (commit.index >= next) yield commit
  }

  /** Deletes commits below `beforeIndex` that are covered by the checkpoint. */
  async trim(beforeIndex: number): Promise<void> {
    await this.#engine.trim(beforeIndex)
    this.noteTrimmed(beforeIndex)
  }

  /** Called when the leader has trimmed commits below `beforeIndex`. */
  noteTrimmed(beforeIndex: number): void {
    this.#firstIndex = Math.max(this.#firstIndex, beforeIndex)
  }

  /**
   * True if the reader can continue in memory. Recent commits are evicted while a reader catches
   * up, so it must not miss any in between.
   */
  #isInMemory(index: number): boolean {
    const oldest = this.#recent[0]
    return oldest !== undefined && index >= oldest.commit.index
  }

  /** Evicts in batches, because removing the first element of an array moves all others. */
  #evictOldest(commitsMax: number): void {
    let count = 0
    let chars = this.#recentChars
    while (this.#recent.length - count > commitsMax || chars > RECENT_CHARS_MAX)
      chars -= this.#recent[count++]?.chars ?? 0
    if (count < this.#recent.length / 4) return
    this.#recent.splice(0, count)
    this.#recentChars = chars
  }
}
