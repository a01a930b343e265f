import { parseDatabaseUrl } from './database-url.ts'
import { clientConfig, openLanes, type Lanes } from './lanes.ts'
import { readPosition } from './position.ts'
import { PostgresEngine } from './postgres-engine.ts'
import { toPostgresFault } from './postgres-faults.ts'
import { PostgresLease } from './postgres-lease.ts'
import { Retry } from './retry.ts'
import { migrateSchema } from './schema.ts'

interface DatabaseOptions {
  /** How long a database that is away is waited for before an engine gives up. */
  readonly giveUpMs?: number
}

/**
 * A database that holds the state of a cluster, with its tables in today's version. Rejects with a
 * Fault (`storage-address`, `-unwritable`, `-version`, `-foreign`, `-failed`) that shows no password.
 */
export async function openPostgresDatabase(
  url: string,
  options: DatabaseOptions = {},
): Promise<PostgresDatabase> {
  const target = parseDatabaseUrl(url)
  const { name } = target
  await migrateSchema(clientConfig(target), name).catch((thrown: unknown) => {
    throw toPostgresFault(thrown, name, 'opening it')
  })
  return new PostgresDatabase(openLanes(target), options)
}

export class PostgresDatabase {
  /** Host, port and database. */
  readonly name: string
  /** Who leads. */
  readonly lease: PostgresLease
  readonly #lanes: Lanes
  readonly #options: DatabaseOptions
  #closing: Promise<void> | undefined

  constructor(lanes: Lanes, options: DatabaseOptions) {
    this.name = lanes.target.name
    this.#lanes = lanes
    this.#options = options
    this.lease = new PostgresLease(lanes)
  }

  /** An engine that follows; its `lead` makes it one that writes. */
  async openEngine(): Promise<PostgresEngine> {
    const retry = new Retry({ name: this.name, ...this.#options })
    const { position } = await retry.run('opening it', () =>
      readPosition(this.#lanes.read, this.name),
    )
    return new PostgresEngine({ lanes: this.#lanes, retry, opened: position })
  }

  /** Closes the connections. Engines are to be closed before. Safe to call twice. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#lanes.close())
  }
}
