import { Client, type ClientConfig } from 'pg'
import { Fault } from '@reeve/kit/fault.ts'
import type { QueryRunner, ConnectionPools, Statement } from './connections.ts'
import { fencedFault, type Retry, sqlStateOf } from './postgres-faults.ts'

/**
 * Statements of each schema version in order; never edited after a release, only appended. Plain
 * SQL that runs on every engine with this protocol. A migration must keep the statements of the
 * previous version working, because servers are upgraded one after the other. Keys are unbounded,
 * but index entries are limited (2.7 kB), so rows and blobs are keyed by digest. `reeve_head` and
 * `reeve_checkpoint` contain the term because each is the one row that its writers update: that row
 * lock is the fence.
 */
const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE reeve_leader (
       id integer PRIMARY KEY, term bigint NOT NULL, holder text NOT NULL, address text NOT NULL,
       expires_at timestamptz NOT NULL)`,
    'CREATE TABLE reeve_head (id integer PRIMARY KEY, term bigint NOT NULL, last_index bigint NOT NULL)',
    `CREATE TABLE reeve_checkpoint (
       id integer PRIMARY KEY, term bigint NOT NULL, step bigint NOT NULL, up_to bigint NOT NULL,
       first_index bigint NOT NULL, table_indexes text NOT NULL)`,
    `CREATE TABLE reeve_log (
       commit_index bigint PRIMARY KEY, term bigint NOT NULL, nonce text NOT NULL,
       time_ms double precision NOT NULL, body text NOT NULL)`,
    `CREATE TABLE reeve_rows (
       id bytea PRIMARY KEY, table_name text NOT NULL, key text NOT NULL, body text NOT NULL)`,
    'CREATE TABLE reeve_blobs (id bytea PRIMARY KEY, key text NOT NULL, bytes bytea NOT NULL)',
    `INSERT INTO reeve_leader (id, term, holder, address, expires_at)
       VALUES (1, 0, '', '', timestamptz '1970-01-01 00:00:00+00')`,
    'INSERT INTO reeve_head (id, term, last_index) VALUES (1, 0, 0)',
    `INSERT INTO reeve_checkpoint (id, term, step, up_to, first_index, table_indexes)
       VALUES (1, 0, 0, 0, 1, '{}')`,
  ],
  [
    // Identifies the key that seals secrets: servers with another key are rejected.
    'CREATE TABLE reeve_cluster (id integer PRIMARY KEY, key_check text NOT NULL)',
  ],
  [
    // The servers and their last heartbeats.
    `CREATE TABLE reeve_servers (
       id text PRIMARY KEY, name text NOT NULL, address text NOT NULL, region text NOT NULL,
       datacenter text NOT NULL, build text NOT NULL, state text NOT NULL,
       seen_at timestamptz NOT NULL)`,
  ],
  [
    // Metadata of the database: see DatabaseMetadata.
    'CREATE TABLE reeve_marks (name text PRIMARY KEY, value text NOT NULL)',
  ],
  [
    // Losses of acknowledged commits. Appends are rejected until each is accepted.
    `CREATE TABLE reeve_losses (
       id text PRIMARY KEY, from_index bigint NOT NULL, to_index bigint NOT NULL,
       found_by text NOT NULL, found_at timestamptz NOT NULL,
       accepted_by text, accepted_at timestamptz)`,
  ],
]

export const SCHEMA_VERSION = MIGRATIONS.length

/**
 * Oldest schema version whose programs can use these tables. Additive migrations do not change it,
 * so that a server of the previous version can be restarted during an upgrade.
 */
const OLDEST_COMPATIBLE_VERSION = 1

/**
 * Migrates the tables to this program's version; creates them if there are none. Safe to run
 * concurrently: one server migrates, the others wait. Throws the error of the client, or a Fault.
 */
export async function migrateSchema(
  config: ClientConfig,
  name: string,
  version = SCHEMA_VERSION,
): Promise<void> {
  const client = new Client(config)
  // Also reported by the running query.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await assertUtf8(client, name)
    await ensureVersionRow(client)
    await inTransaction(client, () => migrate(client, { name, version }))
  } finally {
    await client.end()
  }
}

async function assertUtf8(client: Client, name: string): Promise<void> {
  const { rows } = await client.query<{ encoding: string }>(
    `SELECT current_setting('server_encoding') AS encoding`,
  )
  const encoding = rows[0]?.encoding ?? ''
  if (/^utf-?8$/i.test(encoding)) return
  throw new Fault(
    'storage-foreign',
    `The database ${name} keeps texts as ${encoding}. Nothing was changed. Make one with encoding UTF8.`,
  )
}

/** Errors of concurrent CREATE TABLE statements: the table or its type already exists. */
const ALREADY_EXISTS_STATES: readonly (string | undefined)[] = ['23505', '42P07', '42710']

async function ensureVersionRow(client: Client): Promise<void> {
  const make = `CREATE TABLE IF NOT EXISTS reeve_schema (
    id integer PRIMARY KEY, version integer NOT NULL, oldest_reader integer NOT NULL DEFAULT 1)`
  await client.query(make).catch((thrown: unknown) => {
    if (!ALREADY_EXISTS_STATES.includes(sqlStateOf(thrown))) throw thrown
  })
  await client.query(
    'INSERT INTO reeve_schema (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING',
  )
}

async function migrate(
  client: Client,
  { name, version }: { readonly name: string; readonly version: number },
): Promise<void> {
  const { rows } = await client.query<{ version: number; oldest_reader: number }>(
    'SELECT version, oldest_reader FROM reeve_schema WHERE id = 1 FOR UPDATE',
  )
  const { version: currentVersion, oldest_reader: oldestReader } = rows[0] ?? {
    version: 0,
    oldest_reader: 1,
  }
  if (currentVersion > SCHEMA_VERSION && oldestReader > SCHEMA_VERSION)
    throw newerSchemaFault(name, currentVersion)
  for (const statement of MIGRATIONS.slice(currentVersion, version).flat())
    await client.query(statement)
  if (currentVersion < version)
    await client.query('UPDATE reeve_schema SET version = $1, oldest_reader = $2 WHERE id = 1', [
      version,
      OLDEST_COMPATIBLE_VERSION,
    ])
}

async function inTransaction(client: Client, work: () => Promise<void>): Promise<void> {
  await client.query('BEGIN')
  try {
    await work()
    await client.query('COMMIT')
  } catch (thrown) {
    // A closed connection has already rolled back.
    await client.query('ROLLBACK').catch(() => undefined)
    throw thrown
  }
}

function newerSchemaFault(databaseName: string, version: number): Fault {
  return new Fault(
    'storage-version',
    `The database ${databaseName} has version ${version} of the tables, this program knows ${SCHEMA_VERSION}. ` +
      'A newer Reeve wrote it: start that version. Nothing was changed.',
  )
}

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
      text: `${TERM_FENCE} INSERT INTO reeve_marks (name, value)
        SELECT '${UNFINISHED_KEY}', '' FROM head
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
