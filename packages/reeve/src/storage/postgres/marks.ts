import { Fault } from '@reeve/kit/fault.ts'
import type { Lane, Lanes, Statement } from './lanes.ts'
import { fencedFault } from './postgres-faults.ts'
import type { Retry } from './retry.ts'

/** The region whose servers share this database. */
const REGION = 'region'
/** Set while a command fills it: what is there is not all of it. */
const UNFINISHED = 'unfinished'

/** Whether somebody began to fill the database and has not ended. */
export const IS_UNFINISHED = `EXISTS (SELECT 1 FROM reeve_marks WHERE name = '${UNFINISHED}')`

/** Locks the row that a take-over moves: whoever has lost the lease changes nothing. */
const FENCE = `WITH head AS (
    UPDATE reeve_head SET term = term WHERE id = 1 AND term = $1 RETURNING term
  )`

const REMOVED_PER_STATEMENT = 2_000

/** What is removed of a state that was never finished, each by its key. */
const CONTENT = { reeve_log: 'commit_index', reeve_rows: 'id', reeve_blobs: 'id' } as const

interface MarksParts {
  readonly lanes: Lanes
  readonly makeRetry: () => Retry
}

/** What a database says of itself, beside the state in it (decision 0036). Rejects with a Fault. */
export class PostgresMarks {
  readonly #lane: Lane
  readonly #name: string
  readonly #makeRetry: () => Retry

  constructor({ lanes, makeRetry }: MarksParts) {
    this.#lane = lanes.keep
    this.#name = lanes.target.name
    this.#makeRetry = makeRetry
  }

  async isUnfinished(): Promise<boolean> {
    const text = `SELECT ${IS_UNFINISHED} AS found`
    const [row] = await this.#run<{ readonly found: boolean }>('asking whether it is whole', {
      text,
    })
    return row?.found === true
  }

  /** Rejects with `storage-corrupt` when a command began to fill it and did not end. */
  async assertFinished(): Promise<void> {
    if (!(await this.isUnfinished())) return
    throw new Fault(
      'storage-corrupt',
      `The database ${this.#name} holds half a state: "reeve operator snapshot restore" or ` +
        '"reeve operator migrate-storage" is still filling it, or was broken off. Wait for it, ' +
        'or run it again: it replaces what is there.',
    )
  }

  /** From here on nobody leads on it, until `finish`. Removes what was left of an earlier try. */
  async begin(term: number): Promise<void> {
    await this.#fenced('marking it as unfinished', {
      text: `${FENCE} INSERT INTO reeve_marks (name, value) SELECT '${UNFINISHED}', '' FROM head
        ON CONFLICT (name) DO UPDATE SET value = '' RETURNING name`,
      values: [term],
    })
    await this.#fenced('beginning anew', {
      text: `WITH head AS (
          UPDATE reeve_head SET last_index = 0 WHERE id = 1 AND term = $1 RETURNING term
        )
        UPDATE reeve_checkpoint SET up_to = 0, first_index = 1, table_indexes = '{}'
        FROM head WHERE id = 1 RETURNING id`,
      values: [term],
    })
    for (const [table, key] of Object.entries(CONTENT)) await this.#empty(table, key, term)
  }

  async #empty(table: string, key: string, term: number): Promise<void> {
    const text = `${FENCE} DELETE FROM ${table} WHERE EXISTS (SELECT 1 FROM head)
      AND ${key} IN (SELECT ${key} FROM ${table} LIMIT ${REMOVED_PER_STATEMENT}) RETURNING 1`
    const statement = { text, values: [term] }
    while ((await this.#run('removing half a state', statement)).length > 0);
  }

  /** All of it is there: servers may lead on it. */
  async finish(term: number): Promise<void> {
    await this.#fenced('marking it as whole', {
      text: `${FENCE}, gone AS (
          DELETE FROM reeve_marks WHERE name = '${UNFINISHED}' AND EXISTS (SELECT 1 FROM head)
        ) SELECT term FROM head`,
      values: [term],
    })
  }

  /**
   * Notes the region at the first time. Rejects with `storage-foreign` when another was noted: a
   * region is a cluster of its own.
   */
  async claimRegion(region: string): Promise<void> {
    await this.#run('noting the region', {
      text: `INSERT INTO reeve_marks (name, value) VALUES ('${REGION}', $1)
        ON CONFLICT (name) DO NOTHING`,
      values: [region],
    })
    const read = `SELECT value FROM reeve_marks WHERE name = '${REGION}'`
    const [row] = await this.#run<{ readonly value: string }>('reading the region', { text: read })
    const noted = row?.value ?? region
    if (noted === region) return
    throw new Fault(
      'storage-foreign',
      `The database ${this.#name} belongs to region "${noted}", and this server is of region ` +
        `"${region}". Give it region = "${noted}", or a database of its own region.`,
    )
  }

  async #fenced(doing: string, statement: Statement): Promise<void> {
    if ((await this.#run(doing, statement)).length === 0) throw fencedFault(this.#name)
  }

  async #run<R extends Record<string, unknown>>(
    doing: string,
    statement: Statement,
  ): Promise<readonly R[]> {
    return await this.#makeRetry().run(doing, () => this.#lane.query<R>(statement))
  }
}
