import type { FollowedLog } from './follower-loop.ts'
import {
  compareWithLog,
  type EntryId,
  type FoundLoss,
  LogHistory,
  type LostRange,
} from './log-history.ts'

/**
 * Acknowledged commits that the database no longer has: a standby that had not received them was
 * promoted, or a backup was restored under running servers. Recorded in the database, so that every
 * server knows.
 */
export interface CommitLoss extends LostRange {
  readonly id: string
  /** Name of the server that found it. */
  readonly foundBy: string
  /** Time of the detection, by the database's clock. */
  readonly foundAtMs: number
  /** Undefined while writes are rejected because of the loss. */
  readonly acceptedAtMs: number | undefined
}

/**
 * Stores losses beside the log. While a loss is not accepted, the storage itself rejects appends of
 * any leader. Faults are those of the storage.
 */
export interface LossStore {
  /** Returns every loss in the order of detection. */
  list(): Promise<readonly CommitLoss[]>

  /**
   * Records a loss, which rejects appends from then on. A loss that is already recorded is
   * extended, since servers have seen different parts of it; an acceptance stays.
   */
  record(loss: Pick<CommitLoss, 'id' | 'foundBy' | 'fromIndex' | 'toIndex'>): Promise<void>

  /**
   * Accepts every loss, so that the log continues at its current end. Returns those that were open.
   */
  accept(by: string): Promise<readonly CommitLoss[]>
}

export function countLostCommits({ fromIndex, toIndex }: LostRange): number {
  return toIndex - fromIndex + 1
}

/** The command that accepts a loss, so that the cluster writes again. */
export const ACCEPT_COMMAND = 'reeve operator database accept-loss'

/** Describes a loss for logs. `database` is the name of the database. */
export function describeLoss(loss: LostRange, database: string): string {
  const count = countLostCommits(loss)
  const missing =
    count === 1
      ? `1 acknowledged commit (index ${loss.fromIndex}) is missing`
      : `${count} acknowledged commits (index ${loss.fromIndex} to ${loss.toIndex}) are missing`
  return (
    `${missing} from the database ` +
    `${database}: a standby that had not received them was promoted, or an older backup was restored`
  )
}

/** Explains why writes are rejected, and what to do about it. */
export function describeRejectedWrites(loss: LostRange, database: string): string {
  return (
    `${describeLoss(loss, database)}. Writes are refused, reads are served from what the database ` +
    `has. To go on without these commits, run "${ACCEPT_COMMAND}"; to get them back, stop every ` +
    'server and put back the database that has them.'
  )
}

/** A newly opened engine, whose log may differ from the one that was followed before. */
interface ComparableEngine {
  refresh(applied: EntryId): Promise<FollowedLog>
  /** Returns the ids of the log's entries between two indexes, both inclusive. */
  entryIds(from: number, to: number): Promise<readonly EntryId[]>
}

interface LossMonitorOptions {
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
