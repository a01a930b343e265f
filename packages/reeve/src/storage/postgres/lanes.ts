import { Client, Pool, type ClientConfig, type PoolClient, type QueryResultRow } from 'pg'
import { DatabaseHosts } from './database-hosts.ts'
import type { DatabaseHost, DatabaseTarget } from './database-url.ts'

/** How long the server may work on one statement before it gives up by itself. */
const STATEMENT_MS_MAX = 10_000
/**
 * How long we wait for an answer. Longer than the server works, so that silence means that the way
 * to it is gone.
 */
const ANSWER_MS_MAX = 12_000
/**
 * A lease is asked for several times while it lasts: a question that hangs must not use it up. The
 * roll likewise, and whoever stops does not wait long to say so.
 */
const LEASE_MS_MAX = 1_000
const READERS_MAX = 4
/**
 * Statements that nobody waits for any more and that PostgreSQL has not answered: of a synchronous
 * commit without a standby, it notices neither a time-out nor the end of the connection, so each
 * new connection would be one more. One is replaced at once, for it may be the way that is gone.
 */
const UNANSWERED_MAX = 1
/** Another is given up after this time, and twice as long each time until one is answered. */
const GIVE_UP_MS = 30_000
const GIVE_UP_MS_MAX = 600_000

/**
 * The connections to one database, by what they are for: a lease must be renewed while a checkpoint
 * is written, and an append must not wait for somebody who reads.
 */
export interface Lanes {
  readonly target: DatabaseTarget
  readonly append: Lane
  readonly keep: Lane
  readonly lease: Lane
  readonly read: Lane
  readonly roll: Lane
  close(): Promise<void>
}

export interface Statement {
  /** A statement with a name is prepared once for each connection. */
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/** Runs single statements, each a transaction of its own. Throws what the client threw. */
export interface Lane {
  query<R extends QueryResultRow>(statement: Statement): Promise<readonly R[]>
}

export function openLanes(target: DatabaseTarget, hosts = new DatabaseHosts(target.hosts)): Lanes {
  const patient = { target, hosts, max: 1, answerMs: ANSWER_MS_MAX }
  const impatient = {
    ...patient,
    target: { ...target, connectMsMax: LEASE_MS_MAX },
    answerMs: LEASE_MS_MAX,
  }
  const lanes = {
    append: new PoolLane(patient),
    keep: new PoolLane(patient),
    lease: new PoolLane(impatient),
    read: new PoolLane({ ...patient, max: READERS_MAX }),
    // It decides nothing, so it need not wait for a standby.
    roll: new PoolLane({ ...impatient, isLocal: true }),
  }
  const all = Object.values(lanes)
  const close = async (): Promise<void> => void (await Promise.all(all.map((lane) => lane.close())))
  return { target, ...lanes, close }
}

interface LaneOptions {
  readonly target: DatabaseTarget
  readonly hosts: DatabaseHosts
  readonly max: number
  readonly answerMs: number
  /** Durable at the primary is enough. */
  readonly isLocal?: boolean
}

class PoolLane implements Lane {
  readonly #options: LaneOptions
  readonly #pool: Pool
  /** How each connection is given up whose statement is not answered. */
  readonly #unanswered = new Set<() => void>()
  #giveUpMs = GIVE_UP_MS

  constructor(options: LaneOptions) {
    this.#options = options
    const { target, hosts, max } = options
    this.#pool = new Pool({
      ...clientConfig(target, hosts.current),
      max,
      idleTimeoutMillis: 0,
      Client: clientsOf(hosts),
      // The pool waits for it and its failure is the connection's, which its types do not say.
      // oxlint-disable-next-line typescript/no-misused-promises
      onConnect: async (client) => await prepareSession(client, options),
    })
    // A connection that dies while nobody uses it is replaced when it is needed.
    this.#pool.on('error', () => undefined)
  }

  async query<R extends QueryResultRow>({
    name,
    text,
    values = [],
  }: Statement): Promise<readonly R[]> {
    const client = await this.#connect()
    const named = name === undefined ? {} : { name }
    const running = client.query<R>({ ...named, text, values: [...values] })
    const { answerMs } = this.#options
    const { promise: late, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => resolve(undefined), answerMs)
    try {
      const answer = await Promise.race([running, late])
      if (answer === undefined) throw this.#giveUp(client, running)
      this.#giveUpMs = GIVE_UP_MS
      client.release()
      return answer.rows
    } catch (thrown) {
      // What is left of a connection after an error is not worth finding out.
      if (!(thrown instanceof UnansweredError)) client.release(true)
      throw thrown
    } finally {
      clearTimeout(timer)
    }
  }

  /** Of several hosts the next is tried at once. */
  async #connect(): Promise<PoolClient> {
    const { hosts } = this.#options
    for (let tries = 1; ; tries++) {
      const host = hosts.current
      try {
        return await this.#pool.connect()
      } catch (thrown) {
        if (isBusy(thrown)) throw thrown
        hosts.leave(host)
        if (tries >= hosts.count) throw thrown
      }
    }
  }

  /** The connection is kept until its statement is answered, and counts as one of the pool. */
  #giveUp(client: PoolClient, running: Promise<unknown>): UnansweredError {
    const end = (): void => {
      clearTimeout(timer)
      if (!this.#unanswered.delete(end)) return
      this.#setMax()
      client.release(true)
    }
    const timer = setTimeout(() => {
      this.#giveUpMs = Math.min(2 * this.#giveUpMs, GIVE_UP_MS_MAX)
      end()
    }, this.#giveUpMs)
    timer.unref()
    this.#unanswered.add(end)
    this.#setMax()
    running.then(end, end)
    return new UnansweredError(this.#options.answerMs)
  }

  #setMax(): void {
    const { max } = this.#options
    this.#pool.options.max = max + Math.min(this.#unanswered.size, UNANSWERED_MAX)
  }

  async close(): Promise<void> {
    for (const end of this.#unanswered) end()
    await this.#pool.end()
  }
}

/** PostgreSQL has not answered in time; whether the statement is carried out is open. */
class UnansweredError extends Error {
  constructor(answerMs: number) {
    super(`no response within ${answerMs / 1_000} s`)
  }
}

/** Every connection of the pool is in use: nothing is known about the host. */
function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message === 'timeout exceeded when trying to connect'
}

/** Each connection goes to the host that is the current one when it is made. */
function clientsOf(hosts: DatabaseHosts): typeof Client {
  return class extends Client {
    constructor(config?: string | ClientConfig) {
      super(typeof config === 'object' ? { ...config, ...hosts.current } : config)
      // The statement that is under way fails too; an unheard 'error' would end the process.
      this.on('error', () => undefined)
    }
  }
}

/** How one connection is made; without limits on statements. */
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
 * Durable means durable: an administrator's default for others must not make an acknowledged commit
 * one that a crash forgets. A stronger setting stays.
 */
async function prepareSession(
  client: Pick<Client, 'query'>,
  { target, isLocal = false }: LaneOptions,
): Promise<void> {
  const commit = isLocal
    ? `set_config('synchronous_commit', 'local', false)`
    : `CASE WHEN current_setting('synchronous_commit', true) = 'off'
         THEN set_config('synchronous_commit', 'on', false) END`
  const { rows } = await client.query<{ readonly is_read_only: boolean }>(
    `SELECT set_config('statement_timeout', '${STATEMENT_MS_MAX}', false), ${commit},
       current_setting('transaction_read_only') = 'on' AS is_read_only`,
  )
  if (target.session === 'read-write' && rows[0]?.is_read_only === true)
    throw new Error('it is a standby or read-only, and target_session_attrs wants a primary')
}
