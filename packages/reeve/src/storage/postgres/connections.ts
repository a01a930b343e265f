import { Client, Pool, type ClientConfig, type PoolClient, type QueryResultRow } from 'pg'
import { type DatabaseHost, DatabaseHosts, type DatabaseTarget } from './database-url.ts'

/** Maximum duration of a statement in the database. */
const STATEMENT_TIMEOUT_MS = 10_000
/**
 * Client-side timeout of a statement. Longer than the server-side limit, so that a timeout means a
 * broken connection.
 */
const QUERY_TIMEOUT_MS = 12_000
/**
 * Timeout of lease statements: a lease is renewed several times within its duration, so a hanging
 * statement must not use it up. Also used for the server registry, so that a stopping server does
 * not wait long.
 */
const LEASE_TIMEOUT_MS = 1_000
const READ_CONNECTIONS_MAX = 4
/**
 * Additional connections while statements are abandoned without a response. A synchronous commit
 * without a standby notices neither a timeout nor a closed connection, so each new connection would
 * hang too. One is replaced at once, because only its network path may be broken.
 */
const EXTRA_CONNECTIONS_MAX = 1
/** Time until a further connection is abandoned; doubled each time until a statement responds. */
const ABANDON_MS = 30_000
const ABANDON_MS_MAX = 600_000

/**
 * Connection pools of one database by purpose: the lease must be renewed while a checkpoint is
 * written, and appends must not wait for reads.
 */
export interface ConnectionPools {
  readonly target: DatabaseTarget
  readonly append: QueryRunner
  readonly maintenance: QueryRunner
  readonly lease: QueryRunner
  readonly read: QueryRunner
  readonly registry: QueryRunner
  close(): Promise<void>
}

export interface Statement {
  /** Named statements are prepared once per connection. */
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/** Runs single statements, each in its own transaction. Throws the errors of the client. */
export interface QueryRunner {
  query<R extends QueryResultRow>(statement: Statement): Promise<readonly R[]>
}

export function openPools(
  target: DatabaseTarget,
  hosts = new DatabaseHosts(target.hosts),
): ConnectionPools {
  const defaults = { target, hosts, max: 1, queryTimeoutMs: QUERY_TIMEOUT_MS }
  const leaseDefaults = {
    ...defaults,
    target: { ...target, connectMsMax: LEASE_TIMEOUT_MS },
    queryTimeoutMs: LEASE_TIMEOUT_MS,
  }
  const lanes = {
    append: new PoolRunner(defaults),
    maintenance: new PoolRunner(defaults),
    lease: new PoolRunner(leaseDefaults),
    read: new PoolRunner({ ...defaults, max: READ_CONNECTIONS_MAX }),
    // The registry decides nothing, so it need not wait for a standby.
    registry: new PoolRunner({ ...leaseDefaults, isLocalCommit: true }),
  }
  const all = Object.values(lanes)
  const close = async (): Promise<void> => void (await Promise.all(all.map((lane) => lane.close())))
  return { target, ...lanes, close }
}

interface PoolOptions {
  readonly target: DatabaseTarget
  readonly hosts: DatabaseHosts
  readonly max: number
  readonly queryTimeoutMs: number
  /** True if durability at the primary is sufficient. */
  readonly isLocalCommit?: boolean
}

class PoolRunner implements QueryRunner {
  readonly #options: PoolOptions
  readonly #pool: Pool
  /** Functions that close the connections with unanswered statements. */
  readonly #abandoned = new Set<() => void>()
  #abandonMs = ABANDON_MS

  constructor(options: PoolOptions) {
    this.#options = options
    const { target, hosts, max } = options
    this.#pool = new Pool({
      ...clientConfig(target, hosts.current),
      max,
      idleTimeoutMillis: 0,
      Client: clientClassFor(hosts),
      // The pool awaits it and treats a failure as a connection failure, which its types do not
      // declare.
      // oxlint-disable-next-line typescript/no-misused-promises
      onConnect: async (client) => await prepareSession(client, options),
    })
    // An idle connection that breaks is replaced when needed.
    this.#pool.on('error', () => undefined)
  }

  async query<R extends QueryResultRow>({
    name,
    text,
    values = [],
  }: Statement): Promise<readonly R[]> {
    const client = await this.#connect()
    const named = name === undefined ? {} : { name }
    const pending = client.query<R>({ ...named, text, values: [...values] })
    const { queryTimeoutMs } = this.#options
    const { promise: timeout, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => resolve(undefined), queryTimeoutMs)
    try {
      const result = await Promise.race([pending, timeout])
      if (result === undefined) throw this.#abandon(client, pending)
      this.#abandonMs = ABANDON_MS
      client.release()
      return result.rows
    } catch (thrown) {
      // The state of a connection after an error is unknown, so it is discarded.
      if (!(thrown instanceof QueryTimeoutError)) client.release(true)
      throw thrown
    } finally {
      clearTimeout(timer)
    }
  }

  /** Tries the next host at once if there are several. */
  async #connect(): Promise<PoolClient> {
    const { hosts } = this.#options
    for (let tries = 1; ; tries++) {
      const host = hosts.current
      try {
        return await this.#pool.connect()
      } catch (thrown) {
        if (isPoolExhausted(thrown)) throw thrown
        hosts.tryNext(host)
        if (tries >= hosts.count) throw thrown
      }
    }
  }

  /** Keeps the connection until its statement responds; it counts as a connection of the pool. */
  #abandon(client: PoolClient, pending: Promise<unknown>): QueryTimeoutError {
    const closeConnection = (): void => {
      clearTimeout(timer)
      if (!this.#abandoned.delete(closeConnection)) return
      this.#updatePoolSize()
      client.release(true)
    }
    const timer = setTimeout(() => {
      this.#abandonMs = Math.min(2 * this.#abandonMs, ABANDON_MS_MAX)
      closeConnection()
    }, this.#abandonMs)
    timer.unref()
    this.#abandoned.add(closeConnection)
    this.#updatePoolSize()
    pending.then(closeConnection, closeConnection)
    return new QueryTimeoutError(this.#options.queryTimeoutMs)
  }

  #updatePoolSize(): void {
    const { max } = this.#options
    this.#pool.options.max = max + Math.min(this.#abandoned.size, EXTRA_CONNECTIONS_MAX)
  }

  async close(): Promise<void> {
    for (const end of this.#abandoned) end()
    await this.#pool.end()
  }
}

/** PostgreSQL did not respond in time; the outcome of the statement is unknown. */
class QueryTimeoutError extends Error {
  constructor(answerMs: number) {
    super(`no response within ${answerMs / 1_000} s`)
  }
}

/** True if all connections of the pool are in use, which says nothing about the host. */
function isPoolExhausted(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message === 'timeout exceeded when trying to connect'
}

/** Client class whose connections use the current host. */
function clientClassFor(hosts: DatabaseHosts): typeof Client {
  return class extends Client {
    constructor(config?: string | ClientConfig) {
      super(typeof config === 'object' ? { ...config, ...hosts.current } : config)
      // The running statement fails too; an unhandled 'error' event would end the process.
      this.on('error', () => undefined)
    }
  }
}

/** Configuration of one connection, without statement limits. */
export function clientConfig(
  target: DatabaseTarget,
  { host, port }: DatabaseHost = target.hosts[0],
): ClientConfig {
  const { database, user, password, tls } = target
  return {
    host,
    port,
    database,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ssl: tls,
    application_name: target.applicationName,
    connectionTimeoutMillis: target.connectMsMax,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  }
}

/**
 * Enforces synchronous commits: a default set by an administrator must not make acknowledged
 * commits volatile. A stronger setting is kept.
 */
async function prepareSession(
  client: Pick<Client, 'query'>,
  { target, isLocalCommit = false }: PoolOptions,
): Promise<void> {
  const commit = isLocalCommit
    ? `set_config('synchronous_commit', 'local', false)`
    : `CASE WHEN current_setting('synchronous_commit', true) = 'off'
         THEN set_config('synchronous_commit', 'on', false) END`
  const { rows } = await client.query<{ readonly is_read_only: boolean }>(
    `SELECT set_config('statement_timeout', '${STATEMENT_TIMEOUT_MS}', false), ${commit},
       current_setting('transaction_read_only') = 'on' AS is_read_only`,
  )
  if (target.session === 'read-write' && rows[0]?.is_read_only === true)
    throw new Error('it is a standby or read-only, and target_session_attrs wants a primary')
}
