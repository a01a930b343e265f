import { Fault } from '@reeve/kit/fault.ts'
import type { QueryRunner, ConnectionPools, Statement } from './lanes.ts'
import { fencedFault } from './postgres-faults.ts'
import type { Retry } from './retry.ts'

/** Key of the region whose servers share this database. */
const REGION_KEY = 'region'
/** Key that is set while a command imports content, which is incomplete until then. */
const UNFINISHED_KEY = 'unfinished'

/** True if an import was started and not finished. */
export const HAS_UNFINISHED_IMPORT = `EXISTS (SELECT 1 FROM reeve_marks WHERE name = '${UNFINISHED_KEY}')`

/** Locks the row that a takeover updates, so that a server without the lease changes nothing. */
const TERM_FENCE = `WITH head AS (
    UPDATE reeve_head SET term = term WHERE id = 1 AND term = $1 RETURNING term
  )`

const DELETED_PER_STATEMENT = 2_000

/** Tables of an unfinished import that are cleared, with their keys. */
const CONTENT_TABLES = { reeve_log: 'commit_index', reeve_rows: 'id', reeve_blobs: 'id' } as const

interface DatabaseMetadataDeps {
  readonly lanes: ConnectionPools
  readonly makeRetry: () => Retry
}

/** Metadata of a database beside the state in it (decision 0036). Rejects with a Fault. */
export class DatabaseMetadata {
  readonly #runner: QueryRunner
  readonly #name: string
  readonly #makeRetry: () => Retry

  constructor({ lanes, makeRetry }: DatabaseMetadataDeps) {
    this.#runner = lanes.maintenance
    this.#name = lanes.target.name
    this.#makeRetry = makeRetry
  }

  async hasUnfinishedImport(): Promise<boolean> {
    const text = `SELECT ${HAS_UNFINISHED_IMPORT} AS found`
    const [row] = await this.#run<{ readonly found: boolean }>('asking whether it is whole', {
      text,
    })
    return row?.found === true
  }

  /** Rejects with `storage-corrupt` if an import was started and not finished. */
  async assertNoUnfinishedImport(): Promise<void> {
    if (!(await this.hasUnfinishedImport())) return
    throw new Fault(
      'storage-corrupt',
      `The database ${this.#name} holds half a state: "reeve operator snapshot restore" or ` +
        '"reeve operator migrate-storage" is still filling it, or was broken off. Wait for it, ' +
        'or run it again: it replaces what is there.',
    )
  }

  /**
   * Starts an import: nobody can lead on this database until `finish`. Clears the content of an
   * earlier attempt.
   */
  async beginImport(term: number): Promise<void> {
    await this.#runFenced('marking it as unfinished', {
      text: `${TERM_FENCE} INSERT INTO reeve_marks (name, value) SELECT '${UNFINISHED_KEY}', '' FROM head
        ON CONFLICT (name) DO UPDATE SET value = '' RETURNING name`,
      values: [term],
    })
    await this.#runFenced('beginning anew', {
      text: `WITH head AS (
          UPDATE reeve_head SET last_index = 0 WHERE id = 1 AND term = $1 RETURNING term
        )
        UPDATE reeve_checkpoint SET up_to = 0, first_index = 1, table_indexes = '{}'
        FROM head WHERE id = 1 RETURNING id`,
      values: [term],
    })
    for (const [table, key] of Object.entries(CONTENT_TABLES))
      await this.#clearTable(table, key, term)
  }

  async #clearTable(table: string, key: string, term: number): Promise<void> {
    const text = `${TERM_FENCE} DELETE FROM ${table} WHERE EXISTS (SELECT 1 FROM head)
      AND ${key} IN (SELECT ${key} FROM ${table} LIMIT ${DELETED_PER_STATEMENT}) RETURNING 1`
    const statement = { text, values: [term] }
    while ((await this.#run('removing half a state', statement)).length > 0);
  }

  /** Finishes the import: servers may lead on this database. */
  async finishImport(term: number): Promise<void> {
    await this.#runFenced('marking it as whole', {
      text: `${TERM_FENCE}, gone AS (
          DELETE FROM reeve_marks WHERE name = '${UNFINISHED_KEY}' AND EXISTS (SELECT 1 FROM head)
        ) SELECT term FROM head`,
      values: [term],
    })
  }

  /**
   * Records the region of the first server. Rejects with `storage-foreign` if another region was
   * recorded, because each region is its own cluster.
   */
  async assertRegion(region: string): Promise<void> {
    await this.#run('noting the region', {
      text: `INSERT INTO reeve_marks (name, value) VALUES ('${REGION_KEY}', $1)
        ON CONFLICT (name) DO NOTHING`,
      values: [region],
    })
    const read = `SELECT value FROM reeve_marks WHERE name = '${REGION_KEY}'`
    const [row] = await this.#run<{ readonly value: string }>('reading the region', { text: read })
    const recorded = row?.value ?? region
    if (recorded === region) return
    throw new Fault(
      'storage-foreign',
      `The database ${this.#name} belongs to region "${recorded}", and this server is of region ` +
        `"${region}". Give it region = "${recorded}", or a database of its own region.`,
    )
  }

  async #runFenced(operation: string, statement: Statement): Promise<void> {
    if ((await this.#run(operation, statement)).length === 0) throw fencedFault(this.#name)
  }

  async #run<R extends Record<string, unknown>>(
    operation: string,
    statement: Statement,
  ): Promise<readonly R[]> {
    return await this.#makeRetry().run(operation, () => this.#runner.query<R>(statement))
  }
}
