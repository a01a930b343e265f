import { setTimeout } from 'node:timers/promises'
import { LogHistory } from '../../cluster/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { DatabaseHosts, type DatabaseTarget, parseDatabaseUrl } from './database-url.ts'
import { clientConfig, openPools, type ConnectionPools } from './connections.ts'
import { DatabaseMetadata, migrateSchema } from './schema.ts'
import { readPosition } from './page-queries.ts'
import { PostgresNotifier } from './postgres-notifier.ts'
import { PostgresEngine } from './postgres-engine.ts'
import { isUnavailable, Retry, toPostgresFault } from './postgres-faults.ts'
import { PostgresLease, PostgresLosses, PostgresServerRegistry } from './postgres-cluster.ts'

interface DatabaseOptions {
  /** How long an engine waits for an unavailable database. */
  readonly giveUpMs?: number
  /** How long a commit may wait for its response. */
  readonly commitMsMax?: number
}

/** Waits for an unavailable database on opening. */
export interface DatabaseWait {
  /** Called with the reason after each failed attempt. */
  readonly onUnreachable: (why: string) => void
  /** Ends the wait. */
  readonly signal: AbortSignal
}

const FIRST_RETRY_MS = 250
const RETRY_MS_MAX = 5_000

/** Properties that all servers of a database must have in common. */
export interface ClusterIdentity {
  /** Fingerprint of the key, which does not reveal the key. */
  readonly keyFingerprint: string
  /** Fingerprints of the keys that this server accepts besides its own. */
  readonly previousFingerprints?: readonly string[] | undefined
  readonly region: string
}

/**
 * Opens the database of a cluster and migrates its tables to the current version. Rejects with a
 * Fault (`storage-address`, `-unwritable`, `-version`, `-foreign`, `-failed`) without showing a
 * password.
 */
export async function openPostgresDatabase(
  url: string,
  options: DatabaseOptions & { readonly wait?: DatabaseWait } = {},
): Promise<PostgresDatabase> {
  const target = parseDatabaseUrl(url)
  const hosts = new DatabaseHosts(target.hosts)
  for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
    try {
      await migrateFirstWritable(target, hosts)
      return new PostgresDatabase({ pools: openPools(target, hosts), hosts }, options)
    } catch (thrown) {
      const fault = toPostgresFault(thrown, target.name, 'opening it')
      const { wait } = options
      if (wait === undefined || !isUnavailable(thrown) || wait.signal.aborted) throw fault
      wait.onUnreachable(fault.message)
      await sleep(waitMs, wait.signal)
    }
  }
}

/** Tries the hosts in order until one is writable. Throws the error of the last one. */
async function migrateFirstWritable(target: DatabaseTarget, hosts: DatabaseHosts): Promise<void> {
  for (let tries = 1; ; tries++) {
    const host = hosts.current
    try {
      return await migrateSchema(clientConfig(target, host), target.name)
    } catch (thrown) {
      if (!isUnavailable(thrown)) throw thrown
      hosts.tryNext(host)
      if (tries >= hosts.count) throw thrown
    }
  }
}

/** Resolves after the time or when the signal is aborted. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined)
}

interface DatabaseConnections {
  readonly pools: ConnectionPools
  readonly hosts: DatabaseHosts
}

export class PostgresDatabase {
  /** Host, port and database. */
  readonly name: string
  /** Leader lease. */
  readonly lease: PostgresLease
  /** Registry of the servers. */
  readonly servers: PostgresServerRegistry
  /** Notifies of changes by other servers. */
  readonly notifier: PostgresNotifier
  /** Metadata of the database. */
  readonly metadata: DatabaseMetadata
  /** Recorded losses of acknowledged commits. */
  readonly losses: PostgresLosses
  readonly #pools: ConnectionPools
  readonly #options: DatabaseOptions
  #closing: Promise<void> | undefined

  constructor({ pools, hosts }: DatabaseConnections, options: DatabaseOptions) {
    this.name = pools.target.name
    this.#pools = pools
    this.#options = options
    this.lease = new PostgresLease(pools)
    this.servers = new PostgresServerRegistry(pools)
    this.notifier = new PostgresNotifier(pools.target, hosts)
    this.metadata = new DatabaseMetadata({ lanes: pools, makeRetry: () => this.#makeRetry() })
    this.losses = new PostgresLosses(pools, () => this.#makeRetry())
  }

  /**
   * Opens an engine as a follower; its `lead` makes it writable and records its appends in
   * `history`.
   */
  async openEngine(history = new LogHistory()): Promise<PostgresEngine> {
    const retry = this.#makeRetry()
    const { position: opened, entry: openedEntry } = await retry.run('opening it', () =>
      readPosition(this.#pools.read, this.name),
    )
    const { commitMsMax } = this.#options
    const parts = { lanes: this.#pools, retry, opened, openedEntry }
    return new PostgresEngine({ ...parts, history, commitMsMax })
  }

  /** Checks that the state is complete, belongs to this region and was sealed with this key. */
  async assertSameCluster(identity: ClusterIdentity): Promise<void> {
    await this.metadata.assertNoUnfinishedImport()
    await this.#assertSameKey(identity)
    // Last, because a server without the key must not record a region.
    await this.metadata.assertRegion(identity.region)
  }

  /**
   * Records the fingerprint of the key that seals secrets in this database, and replaces one that
   * this server accepts, too. Rejects with `storage-foreign` if another one was recorded, because
   * servers could not open each other's secrets.
   */
  async #assertSameKey(identity: ClusterIdentity): Promise<void> {
    const { keyFingerprint, previousFingerprints = [] } = identity
    const rows = await this.#makeRetry().run('checking the key of the cluster', async () => {
      const { maintenance: lane } = this.#pools
      const values = [keyFingerprint]
      const text = `INSERT INTO reeve_cluster (id, key_check) VALUES (1, $1) ON CONFLICT (id) DO NOTHING`
      await lane.query({ text, values })
      if (previousFingerprints.length > 0)
        await lane.query({
          text: 'UPDATE reeve_cluster SET key_check = $1 WHERE id = 1 AND key_check = ANY($2)',
          values: [keyFingerprint, previousFingerprints],
        })
      const read = 'SELECT key_check FROM reeve_cluster WHERE id = 1'
      return await lane.query<{ readonly key_check: string }>({ text: read })
    })
    if (rows[0]?.key_check === keyFingerprint) return
    throw new Fault(
      'storage-foreign',
      `The secrets in the database ${this.name} were sealed with another key than this server has. ` +
        'Give every server of a cluster the same server.cluster_key, or the same file ' +
        'server/sealing-key in its data directory. After a rotation of the key, configure the one ' +
        'before as server.previous_cluster_keys.',
    )
  }

  #makeRetry(): Retry {
    return new Retry({ name: this.name, ...this.#options })
  }

  /** Closes the connections. Engines must be closed before. Idempotent. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#pools.close())
  }
}
