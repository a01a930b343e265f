import { describeLoss, lostCommits, type CommitLoss, type LossStore } from './commit-loss.ts'
import { compareWithLog, LogHistory, type EntryId, type FoundLoss } from './log-history.ts'
import type { FollowedLog } from './follow-loop.ts'

/** An engine that was just opened, and whose log may not be the one that was followed before. */
export interface ComparedEngine {
  follow(applied: EntryId): Promise<FollowedLog>
  /** Which entries the log holds between two indexes, both included. */
  entryIds(from: number, to: number): Promise<readonly EntryId[]>
}

export interface LossMonitorOptions {
  readonly store: LossStore
  /** The database's, for messages. */
  readonly database: string
  /** This server's. */
  readonly name: string
  readonly log: { error(fields: object, message: string): void }
}

/**
 * Notices that the database has lost commits which this process knows to be acknowledged, and
 * knows which losses are recorded. Lives as long as the process: what a server remembers of the log
 * is compared when the state that came from it is already dropped.
 */
export class LossMonitor {
  readonly history = new LogHistory()
  readonly #options: LossMonitorOptions
  #losses: readonly CommitLoss[] = []
  /** Losses that this server has seen while it followed the log that they are recorded in. */
  readonly #seen = new Set<string>()
  #version: string | undefined
  #commitsLost = 0

  constructor(options: LossMonitorOptions) {
    this.#options = options
  }

  /** The largest loss that nobody has accepted: writes are refused for it. */
  get open(): CommitLoss | undefined {
    const open = this.#losses.filter(({ acceptedAtMs }) => acceptedAtMs === undefined)
    return open.toSorted((a, b) => lostCommits(b) - lostCommits(a))[0]
  }

  /** Commits that this process has found missing since it started. */
  get commitsLost(): number {
    return this.#commitsLost
  }

  /**
   * Compares the log with what this process has applied of it, and records what is gone. Safe to
   * call again after a rejection: nothing is forgotten before it is recorded.
   */
  async compare(engine: ComparedEngine): Promise<void> {
    const { history } = this
    const log = await engine.follow(history.last)
    if (compareWithLog(history.last, log) === 'diverged') {
      const end = Math.min(history.last.index, log.lastIndex)
      const held = await engine.entryIds(history.firstIndex, end)
      const lost = history.lostFrom(held)
      if (lost !== undefined) await this.#record(lost, log.lastIndex)
    }
    await this.refresh(log.losses)
  }

  async #record({ nonce, ...lost }: FoundLoss, lastIndex: number): Promise<void> {
    const { store, name, database, log } = this.#options
    const [known] = (await store.list()).filter(({ id }) => !this.#seen.has(id))
    // Another server has found it first: it may be accepted already. Two that find it at the same
    // moment give it the same id.
    const id = known?.id ?? (nonce === '' ? `from ${lost.fromIndex}` : nonce)
    await store.record({ id, foundBy: name, ...lost })
    this.history.truncate(lost.fromIndex)
    this.#version = undefined
    this.#commitsLost += lostCommits(lost)
    log.error(
      { lost: lostCommits(lost), ...lost, logEndsAt: lastIndex },
      `${describeLoss(lost, database)}. This server drops its state and loads that of the database`,
    )
  }

  /** Reads which losses are recorded, unless the version shows that they are known. */
  async refresh(version?: string): Promise<void> {
    if (version !== undefined && version === this.#version) return
    this.#losses = await this.#options.store.list()
    for (const { id } of this.#losses) this.#seen.add(id)
    this.#version = version
  }
}
