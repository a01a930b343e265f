import type { LostRange } from './log-history.ts'

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
