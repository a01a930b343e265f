import { decodeCommit } from './codec.ts'
import type { Commit } from './commit.ts'
import type { StorageEngine } from './engine.ts'
import { charsIn } from './row-text.ts'

/**
 * Commits kept in memory for stream readers that are nearly up to date; older ones come from the
 * engine. Few, since what is kept for more than some fifty milliseconds outlives the young
 * generation: the collector's work on it was a twentieth of a registration.
 */
const RECENT_COMMITS = 64
/** A reader that works through the engine's joins the others once it finds the rest in memory. */
const RECENT_GROUPS = 2
const RECENT_CHARS_MAX = 32 * 1024 * 1024

type Listener = (commits: readonly Commit[]) => void

/** The durable commits in order: the recent ones at hand, the older ones in the engine. */
export class CommitLog {
  readonly #engine: StorageEngine
  readonly #recent: { readonly commit: Commit; readonly chars: number }[] = []
  readonly #listeners = new Set<Listener>()
  #recentChars = 0
  #firstIndex: number
  #lastIndex: number

  constructor(engine: StorageEngine) {
    this.#engine = engine
    this.#firstIndex = engine.opened.firstIndex
    this.#lastIndex = engine.opened.lastIndex
  }

  /** The oldest index that can still be read. */
  get firstIndex(): number {
    return this.#firstIndex
  }

  /** Calls `listener` with each group of commits right after it became durable, in order. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** For the store: these commits are durable now. */
  add(commits: readonly Commit[]): void {
    for (const commit of commits) {
      let chars = 0
      for (const { text } of commit.rows) chars += charsIn(text)
      this.#recent.push({ commit, chars })
      this.#recentChars += chars
      this.#lastIndex = commit.index
    }
    this.#forgetOldest(Math.max(RECENT_COMMITS, RECENT_GROUPS * commits.length))
    for (const listener of this.#listeners) listener(commits)
  }

  /**
   * Durable commits with index ≥ `fromIndex`, ascending, up to the newest at the time of the call.
   */
  async *read(fromIndex: number): AsyncGenerator<Commit> {
    let next = fromIndex
    for (let before = -1; before !== next && !this.#isAtHand(next);) {
      before = next
      for await (const entry of this.#engine.read(next)) {
        // On the disk, but the engine has not said so yet: listeners are told of it later.
        if (entry.index > this.#lastIndex) return
        yield decodeCommit(entry.text)
        next = entry.index + 1
        if (this.#isAtHand(next)) break
      }
    }
    for (const { commit } of this.#recent.slice()) if (commit.index >= next) yield commit
  }

  /** Forgets commits below `beforeIndex`, so far as they are checkpointed. */
  async trim(beforeIndex: number): Promise<void> {
    await this.#engine.trim(beforeIndex)
    this.trimmed(beforeIndex)
  }

  /** The leader that this server follows has forgotten commits below `beforeIndex`. */
  trimmed(beforeIndex: number): void {
    this.#firstIndex = Math.max(this.#firstIndex, beforeIndex)
  }

  /**
   * While a reader works through the engine, the recent ones move on; it must not fall in between.
   */
  #isAtHand(index: number): boolean {
    const oldest = this.#recent[0]
    return oldest !== undefined && index >= oldest.commit.index
  }

  /** In runs, because taking one from the front of an array moves all the others. */
  #forgetOldest(commitsMax: number): void {
    let count = 0
    let chars = this.#recentChars
    while (this.#recent.length - count > commitsMax || chars > RECENT_CHARS_MAX)
      chars -= this.#recent[count++]?.chars ?? 0
    if (count < this.#recent.length / 4) return
    this.#recent.splice(0, count)
    this.#recentChars = chars
  }
}
