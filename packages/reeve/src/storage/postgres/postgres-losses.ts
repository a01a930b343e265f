import type { CommitLoss, LossStore } from '../../cluster/index.ts'
import type { QueryRunner, ConnectionPools, Statement } from './lanes.ts'
import type { Retry } from './retry.ts'

/** True if a loss of commits is recorded and not accepted: appends are rejected then. */
export const HAS_UNACCEPTED_LOSS = `EXISTS (SELECT 1 FROM reeve_losses WHERE accepted_at IS NULL)`

const LOSS_COLUMNS = `id, from_index, to_index, found_by, found_at, accepted_at`

type LossRow = {
  readonly id: string
  readonly from_index: string
  readonly to_index: string
  readonly found_by: string
  readonly found_at: Date
  readonly accepted_at: Date | null
}

/** One row per loss of commits; there are few, and they are never removed. Rejects with a Fault. */
export class PostgresLosses implements LossStore {
  readonly #runner: QueryRunner
  readonly #makeRetry: () => Retry

  constructor(lanes: ConnectionPools, makeRetry: () => Retry) {
    this.#runner = lanes.read
    this.#makeRetry = makeRetry
  }

  async list(): Promise<readonly CommitLoss[]> {
    const text = `SELECT ${LOSS_COLUMNS} FROM reeve_losses ORDER BY found_at, id`
    return (await this.#run('reading its losses', { text })).map(toCommitLoss)
  }

  async record({
    id,
    foundBy,
    fromIndex,
    toIndex,
  }: Pick<CommitLoss, 'id' | 'foundBy' | 'fromIndex' | 'toIndex'>): Promise<void> {
    await this.#run('recording a loss', {
      text: `INSERT INTO reeve_losses (id, from_index, to_index, found_by, found_at)
        VALUES ($1, $2, $3, $4, clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET
          from_index = least(reeve_losses.from_index, excluded.from_index),
          to_index = greatest(reeve_losses.to_index, excluded.to_index)`,
      values: [id, fromIndex, toIndex, foundBy],
    })
  }

  async accept(by: string): Promise<readonly CommitLoss[]> {
    const rows = await this.#run('accepting a loss', {
      text: `UPDATE reeve_losses SET accepted_by = $1, accepted_at = clock_timestamp()
        WHERE accepted_at IS NULL RETURNING ${LOSS_COLUMNS}`,
      values: [by],
    })
    return rows.map(toCommitLoss)
  }

  async #run(operation: string, statement: Statement): Promise<readonly LossRow[]> {
    return await this.#makeRetry().run(operation, () => this.#runner.query<LossRow>(statement))
  }
}

function toCommitLoss(row: LossRow): CommitLoss {
  return {
    id: row.id,
    fromIndex: Number(row.from_index),
    toIndex: Number(row.to_index),
    foundBy: row.found_by,
    foundAtMs: row.found_at.getTime(),
    acceptedAtMs: row.accepted_at?.getTime(),
  }
}
