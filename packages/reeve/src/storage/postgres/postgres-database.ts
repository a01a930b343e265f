import { setTimeout } from 'node:timers/promises'
import { LogHistory } from '../../cluster/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { DatabaseHosts } from './database-hosts.ts'
import { parseDatabaseUrl, type DatabaseTarget } from './database-url.ts'
import { clientConfig, openLanes, type Lanes } from './lanes.ts'
import { PostgresMarks } from './marks.ts'
import { readPosition } from './position.ts'
import { PostgresBell } from './postgres-bell.ts'
import { PostgresEngine } from './postgres-engine.ts'
import { isAway, toPostgresFault } from './postgres-faults.ts'
import { PostgresLosses } from './postgres-losses.ts'
import { PostgresLease } from './postgres-lease.ts'
import { PostgresRoll } from './postgres-roll.ts'
import { Retry } from './retry.ts'
import { migrateSchema } from './schema.ts'

interface DatabaseOptions {
  /** How long a database that is away is waited for before an engine gives up. */
  readonly giveUpMs?: number
  /** How long a commit may wait for its answer. */
  readonly commitMsMax?: number
}

/** How to wait for a database that is away when it is opened. */
export interface DatabaseWait {
  /** Told why, each time that it could not be reached. */
  readonly waiting: (why: string) => void
  /** Ends the wait. */
  readonly signal: AbortSignal
}

const WAIT_MS = 250
const WAIT_MS_MAX = 5_000

/** What a server has to have in common with the others on a database. */
export interface DatabaseClaim {
  /** Tells whether two servers have the same key, without telling it. */
  readonly keyCheck: string
  readonly region: string
}

/**
 * A database that holds the state of a cluster, with its tables in today's version. Rejects with
 * a Fault (`storage-address`, `-unwritable`, `-version`, `-foreign`, `-failed`) that shows no
 * password.
 */
export async function openPostgresDatabase(
  url: string,
  options: DatabaseOptions & { readonly wait?: DatabaseWait } = {},
): Promise<PostgresDatabase> {
  const target = parseDatabaseUrl(url)
  const hosts = new DatabaseHosts(target.hosts)
  for (let waitMs = WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
    try {
      await migrateAnyHost(target, hosts)
      return new PostgresDatabase({ lanes: openLanes(target, hosts), hosts }, options)
    } catch (thrown) {
      const fault = toPostgresFault(thrown, target.name, 'opening it')
      const { wait } = options
      if (wait === undefined || !isAway(thrown) || wait.signal.aborted) throw fault
      wait.waiting(fault.message)
      await sleep(waitMs, wait.signal)
    }
  }
}

/** The hosts in their order, until one takes writes. Throws what the last of them said. */
async function migrateAnyHost(target: DatabaseTarget, hosts: DatabaseHosts): Promise<void> {
  for (let tries = 1; ; tries++) {
    const host = hosts.current
    try {
      return await migrateSchema(clientConfig(target, host), target.name)
    } catch (thrown) {
      if (!isAway(thrown)) throw thrown
      hosts.leave(host)
      if (tries >= hosts.count) throw thrown
    }
  }
}

/** Resolves after the time, or when the signal is given. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined)
}

interface DatabaseParts {
  readonly lanes: Lanes
  readonly hosts: DatabaseHosts
}

export class PostgresDatabase {
  /** Host, port and database. */
  readonly name: string
  /** Who leads. */
  readonly lease: PostgresLease
  /** Which servers there are. */
  readonly roll: PostgresRoll
  /** Rings when another writes. */
  readonly bell: PostgresBell
  /** What it says of itself. */
  readonly marks: PostgresMarks
  /** Acknowledged commits that it does not have any more. */
  readonly losses: PostgresLosses
  readonly #lanes: Lanes
  readonly #options: DatabaseOptions
  #closing: Promise<void> | undefined

  constructor({ lanes, hosts }: DatabaseParts, options: DatabaseOptions) {
    this.name = lanes.target.name
    this.#lanes = lanes
    this.#options = options
    this.lease = new PostgresLease(lanes)
    this.roll = new PostgresRoll(lanes)
    this.bell = new PostgresBell(lanes.target, hosts)
    this.marks = new PostgresMarks({ lanes, makeRetry: () => this.#makeRetry() })
    this.losses = new PostgresLosses(lanes, () => this.#makeRetry())
  }

  /** An engine that follows; its `lead` makes it one that writes, and tells `history` of it. */
  async openEngine(history = new LogHistory()): Promise<PostgresEngine> {
    const retry = this.#makeRetry()
    const { position: opened, entry: openedEntry } = await retry.run('opening it', () =>
      readPosition(this.#lanes.read, this.name),
    )
    const { commitMsMax } = this.#options
    const parts = { lanes: this.#lanes, retry, opened, openedEntry }
    return new PostgresEngine({ ...parts, history, commitMsMax })
  }

  /** A server may share this state when all of it is there, of its region and sealed by its key. */
  async claim({ keyCheck, region }: DatabaseClaim): Promise<void> {
    await this.marks.assertFinished()
    await this.#claimKey(keyCheck)
    // Last: who has not the key must not note a region.
    await this.marks.claimRegion(region)
  }

  /**
   * Notes a check value of the key that seals secrets in this database, at the first time. Rejects
   * with `storage-foreign` when another was noted: what one server sealed the other could not open.
   */
  async #claimKey(check: string): Promise<void> {
    const found = await this.#makeRetry().run('checking the key of the cluster', async () => {
      const { keep: lane } = this.#lanes
      const values = [check]
      const text = `INSERT INTO reeve_cluster (id, key_check) VALUES (1, $1) ON CONFLICT (id) DO NOTHING`
      await lane.query({ text, values })
      const read = 'SELECT key_check FROM reeve_cluster WHERE id = 1'
      return await lane.query<{ readonly key_check: string }>({ text: read })
    })
    if (found[0]?.key_check === check) return
    throw new Fault(
      'storage-foreign',
      `The secrets in the database ${this.name} were sealed with another key than this server has. ` +
        'Give every server of a cluster the same server.cluster_key, or the same file ' +
        'server/sealing-key in its data directory.',
    )
  }

  #makeRetry(): Retry {
    return new Retry({ name: this.name, ...this.#options })
  }

  /** Closes the connections. Engines are to be closed before. Safe to call twice. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#lanes.close())
  }
}
