import { describeLoss, countLostCommits, type CommitLoss, type LossStore } from './commit-loss.ts'
import { compareWithLog, LogHistory, type EntryId, type FoundLoss } from './log-history.ts'
import type { FollowedLog } from './follow-loop.ts'

/** A newly opened engine, whose log may differ from the one that was followed before. */
export interface ComparableEngine {
  refresh(applied: EntryId): Promise<FollowedLog>
  /** Returns the ids of the log's entries between two indexes, both inclusive. */
  entryIds(from: number, to: number): Promise<readonly EntryId[]>
}

export interface LossMonitorOptions {
  readonly store: LossStore
  /** Name of the database, for messages. */
  readonly database: string
  /** Name of this server. */
  readonly name: string
  readonly log: { error(fields: object, message: string): void }
}

/**
 * Detects that the database has lost commits which this process knows to be acknowledged, and reads
 * the recorded losses. Lives as long as the process: the history is compared after the state built
 * from it was dropped.
 */
export class LossMonitor {
  readonly history = new LogHistory()
  readonly #options: LossMonitorOptions
  #losses: readonly CommitLoss[] = []
  /** Ids of losses that this server has seen in the log that it follows. */
  readonly #seen = new Set<string>()
  #version: string | undefined
  #commitsLost = 0

  constructor(options: LossMonitorOptions) {
    this.#options = options
  }

  /** The largest loss that is not accepted: writes are rejected because of it. */
  get openLoss(): CommitLoss | undefined {
    const open = this.#losses.filter(({ acceptedAtMs }) => acceptedAtMs === undefined)
    return open.toSorted((a, b) => countLostCommits(b) - countLostCommits(a))[0]
  }

  /** Number of commits that this process has found missing since its start. */
  get commitsLost(): number {
    return this.#commitsLost
  }

  /**
   * Compares the log with the history of this process, and records lost commits. Safe to repeat
   * after a rejection: the history is truncated only after the loss is recorded.
   */
  async compare(engine: ComparableEngine): Promise<void> {
    const { history } = this
    const log = await engine.refresh(history.last)
    if (compareWithLog(history.last, log) === 'diverged') {
      const end = Math.min(history.last.index, log.lastIndex)
      const logEntries = await engine.entryIds(history.firstIndex, end)
      const lost = history.findLoss(logEntries)
      if (lost !== undefined) await this.#record(lost, log.lastIndex)
    }
    await this.refresh(log.losses)
  }

  async #record({ nonce, ...lost }: FoundLoss, lastIndex: number): Promise<void> {
    const { store, name, database, log } = this.#options
    const [recorded] = (await store.list()).filter(({ id }) => !this.#seen.has(id))
    // Another server has recorded it first, and it may already be accepted. Two servers that find
    // it at the same time give it the same id.
    const id = recorded?.id ?? (nonce === '' ? `from ${lost.fromIndex}` : nonce)
    await store.record({ id, foundBy: name, ...lost })
    this.history.truncate(lost.fromIndex)
    this.#version = undefined
    this.#commitsLost += countLostCommits(lost)
    log.error(
      { lost: countLostCommits(lost), ...lost, logEndsAt: lastIndex },
      `${describeLoss(lost, database)}. This server drops its state and loads that of the database`,
    )
  }

  /** Reads the recorded losses, unless the version shows that they have not changed. */
  async refresh(version?: string): Promise<void> {
    if (version !== undefined && version === this.#version) return
    this.#losses = await this.#options.store.list()
    for (const { id } of this.#losses) this.#seen.add(id)
    this.#version = version
  }
}
