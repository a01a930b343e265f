import { Client, type ClientConfig } from 'pg'
import { Fault } from '@reeve/kit/fault.ts'
import { sqlStateOf } from './postgres-faults.ts'

/**
 * What each version added, in order; never edited after a release, only added to. Plain SQL: the
 * same statements run on every engine that speaks the protocol. A step must leave the statements of
 * the version before working, because servers are replaced one after the other.
 *
 * Keys have no bound and an index entry has (2.7 kB), so rows and blobs are found by a digest of
 * theirs. `reeve_head` and `reeve_checkpoint` carry the term because each is the one row that its
 * writers update: that lock is the fence.
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
    // Whose data this is, and which key seals its secrets: servers with another key are refused.
    'CREATE TABLE reeve_cluster (id integer PRIMARY KEY, key_check text NOT NULL)',
  ],
  [
    // Which servers there are, and when each was heard of last.
    `CREATE TABLE reeve_servers (
       id text PRIMARY KEY, name text NOT NULL, address text NOT NULL, region text NOT NULL,
       datacenter text NOT NULL, build text NOT NULL, state text NOT NULL,
       seen_at timestamptz NOT NULL)`,
  ],
  [
    // What the database says of itself: see marks.ts.
    'CREATE TABLE reeve_marks (name text PRIMARY KEY, value text NOT NULL)',
  ],
  [
    // Acknowledged commits that it lost. Appends are refused while one is not accepted.
    `CREATE TABLE reeve_losses (
       id text PRIMARY KEY, from_index bigint NOT NULL, to_index bigint NOT NULL,
       found_by text NOT NULL, found_at timestamptz NOT NULL,
       accepted_by text, accepted_at timestamptz)`,
  ],
]

export const SCHEMA_VERSION = MIGRATIONS.length

/**
 * The oldest version of the tables whose programs can use these tables too. Steps that only add do
 * not change it, so that a server of the version before can be started again during an upgrade.
 */
const OLDEST_READER = 1

/**
 * Brings the tables to this program's version, making them when there are none. Several servers may
 * do so at once: one does, the others wait. Throws what the client threw, or a Fault.
 */
export async function migrateSchema(
  config: ClientConfig,
  name: string,
  version = SCHEMA_VERSION,
): Promise<void> {
  const client = new Client(config)
  // Told by the query that is under way as well.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await assertUtf8(client, name)
    await makeVersionRow(client)
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

/** Two who make a table at the same moment: one is told that it, or its type, is there already. */
const MADE_MEANWHILE: readonly (string | undefined)[] = ['23505', '42P07', '42710']

async function makeVersionRow(client: Client): Promise<void> {
  const make = `CREATE TABLE IF NOT EXISTS reeve_schema (
    id integer PRIMARY KEY, version integer NOT NULL, oldest_reader integer NOT NULL DEFAULT 1)`
  await client.query(make).catch((thrown: unknown) => {
    if (!MADE_MEANWHILE.includes(sqlStateOf(thrown))) throw thrown
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
  const { version: found, oldest_reader: oldestReader } = rows[0] ?? {
    version: 0,
    oldest_reader: 1,
  }
  if (found > SCHEMA_VERSION && oldestReader > SCHEMA_VERSION) throw newerFault(name, found)
  for (const statement of MIGRATIONS.slice(found, version).flat()) await client.query(statement)
  if (found < version)
    await client.query('UPDATE reeve_schema SET version = $1, oldest_reader = $2 WHERE id = 1', [
      version,
      OLDEST_READER,
    ])
}

async function inTransaction(client: Client, work: () => Promise<void>): Promise<void> {
  await client.query('BEGIN')
  try {
    await work()
    await client.query('COMMIT')
  } catch (thrown) {
    // A connection that is gone has rolled back already.
    await client.query('ROLLBACK').catch(() => undefined)
    throw thrown
  }
}

function newerFault(name: string, found: number): Fault {
  return new Fault(
    'storage-version',
    `The database ${name} has version ${found} of the tables, this program knows ${SCHEMA_VERSION}. ` +
      'A newer Reeve wrote it: start that version. Nothing was changed.',
  )
}
