import type { LostRange } from './log-history.ts'

/**
 * Acknowledged commits that the database does not have any more: a standby that had not received
 * them was promoted, or a backup was restored under running servers. Recorded in the database
 * itself, so that every server knows it.
 */
export interface CommitLoss extends LostRange {
  readonly id: string
  /** Name of the server that found it. */
  readonly foundBy: string
  /** By the database's clock. */
  readonly foundAtMs: number
  /** Undefined while writes are refused for it. */
  readonly acceptedAtMs: number | undefined
}

/**
 * Where losses are recorded: beside the log. One that is not accepted refuses appends in the
 * storage itself, whoever leads. Faults are the storage's.
 */
export interface LossStore {
  /** Every loss, in the order in which they were found. */
  list(): Promise<readonly CommitLoss[]>

  /**
   * Records a loss, which refuses appends from then on. One that is recorded is extended, since
   * servers have seen more or less of the commits that are gone; that it is accepted stays so.
   */
  record(loss: Pick<CommitLoss, 'id' | 'foundBy' | 'fromIndex' | 'toIndex'>): Promise<void>

  /** Accepts every loss: the log goes on from where it ends. Gives those that were not accepted. */
  accept(by: string): Promise<readonly CommitLoss[]>
}

export function lostCommits({ fromIndex, toIndex }: LostRange): number {
  return toIndex - fromIndex + 1
}

/** The command that makes a cluster go on writing. */
export const ACCEPT_COMMAND = 'reeve operator database accept-loss'

/** What happened, for logs. `database` is its name. */
export function describeLoss(loss: LostRange, database: string): string {
  const count = lostCommits(loss)
  const what =
    count === 1
      ? `1 acknowledged commit (index ${loss.fromIndex}) is missing`
      : `${count} acknowledged commits (index ${loss.fromIndex} to ${loss.toIndex}) are missing`
  return (
    `${what} from the database ` +
    `${database}: a standby that had not received them was promoted, or an older backup was restored`
  )
}

/** Why writes are refused, and what to do about it. */
export function describeRefusal(loss: LostRange, database: string): string {
  return (
    `${describeLoss(loss, database)}. Writes are refused, reads are served from what the database ` +
    `has. To go on without these commits, run "${ACCEPT_COMMAND}"; to get them back, stop every ` +
    'server and put back the database that has them.'
  )
}
