import { Pool, type ClientBase, type PoolConfig, type QueryResultRow } from 'pg'
import type { DatabaseTarget } from './database-url.ts'

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

export function openLanes(target: DatabaseTarget): Lanes {
  const impatient = { ...target, connectMsMax: LEASE_MS_MAX }
  const pools = [
    openPool(target, { max: 1, answerMs: ANSWER_MS_MAX }),
    openPool(target, { max: 1, answerMs: ANSWER_MS_MAX }),
    openPool(impatient, { max: 1, answerMs: LEASE_MS_MAX }),
    openPool(target, { max: READERS_MAX, answerMs: ANSWER_MS_MAX }),
    openPool(impatient, { max: 1, answerMs: LEASE_MS_MAX }),
  ]
  const [append, keep, lease, read, roll] = pools.map(toLane)
  if (!append || !keep || !lease || !read || !roll) throw new Error('there are five lanes')
  const close = async (): Promise<void> => void (await Promise.all(pools.map((pool) => pool.end())))
  return { target, append, keep, lease, read, roll, close }
}

function toLane(pool: Pool): Lane {
  return {
    query: async <R extends QueryResultRow>({ name, text, values = [] }: Statement) => {
      const named = name === undefined ? {} : { name }
      const { rows } = await pool.query<R>({ ...named, text, values: [...values] })
      return rows
    },
  }
}

interface PoolLimits {
  readonly max: number
  readonly answerMs: number
}

function openPool(target: DatabaseTarget, { max, answerMs }: PoolLimits): Pool {
  const pool = new Pool({
    ...clientConfig(target),
    max,
    query_timeout: answerMs,
    idleTimeoutMillis: 0,
    // The pool waits for it and its failure is the connection's, which its types do not say.
    // oxlint-disable-next-line typescript/no-misused-promises
    onConnect: prepareSession,
  })
  // A connection that dies while nobody uses it is replaced when it is needed.
  pool.on('error', () => undefined)
  return pool
}

/** How one connection is made; without limits on statements. */
export function clientConfig(target: DatabaseTarget): PoolConfig {
  const { host, port, database, user, password, tls } = target
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
async function prepareSession(client: ClientBase): Promise<void> {
  await client.query(
    `SELECT set_config('statement_timeout', '${STATEMENT_MS_MAX}', false),
       CASE WHEN current_setting('synchronous_commit', true) = 'off'
         THEN set_config('synchronous_commit', 'on', false) END`,
  )
}
