import {
  NO_ENTRY,
  type LeaseStore,
  type LeaseClaim,
  type LeaseStatus,
  type LeaseHeld,
  SERVER_STATES,
  type Retirement,
  type ServerRecord,
  type RegisteredServer,
  type RegistryTimeouts,
  type ServerRegistry,
  type CommitLoss,
  type LossStore,
} from '../../cluster/index.ts'
import type { ConnectionPools, QueryRunner, Statement } from './connections.ts'
import { HAS_UNFINISHED_IMPORT } from './schema.ts'
import { NOTIFY_CHANNELS } from './postgres-notifier.ts'
import { type Retry, toPostgresFault } from './postgres-faults.ts'

type LeaseRow = {
  readonly term: string
  readonly holder: string
  readonly address: string
  readonly left_ms: number
}

const LEASE_COLUMNS = `term, holder, address,
  (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::double precision AS left_ms`
/** In the RETURNING list: notifies followers when a statement has changed the lease. */
const NOTIFY_LEASE = `pg_notify('${NOTIFY_CHANNELS.lease}', '') AS told`
const EXPIRES_AT = `clock_timestamp() + $2 * interval '1 millisecond'`

/** The lease as a row. Times are those of the database, so server clocks need not agree. */
export class PostgresLease implements LeaseStore {
  readonly #pools: ConnectionPools

  constructor(lanes: ConnectionPools) {
    this.#pools = lanes
  }

  /**
   * The same holder may acquire it again, because the response to its first attempt may have been
   * lost. The new term is written in the same statement to the rows that guard log and checkpoint.
   * While an import is unfinished, only the importing command gets the lease.
   */
  async acquire(
    { holder, address, ttlMs }: LeaseClaim,
    { forImport = false }: { readonly forImport?: boolean } = {},
  ): Promise<LeaseHeld | undefined> {
    const [row] = await this.#query<{ readonly term: string }>('taking the lease', {
      text: `WITH leader AS (
          UPDATE reeve_leader SET term = term + 1, holder = $1, address = $3, expires_at = ${EXPIRES_AT}
          WHERE id = 1 AND (expires_at <= clock_timestamp() OR holder = $1)
            AND ($4 OR NOT ${HAS_UNFINISHED_IMPORT}) RETURNING term
        ), head AS (
          UPDATE reeve_head SET term = leader.term FROM leader WHERE id = 1 RETURNING leader.term
        )
        UPDATE reeve_checkpoint SET term = head.term, step = 0 FROM head WHERE id = 1
        RETURNING head.term, ${NOTIFY_LEASE}`,
      values: [holder, ttlMs, address, forImport],
    })
    return row === undefined ? undefined : { term: Number(row.term) }
  }

  /**
   * A database that went back in time may still show this lease. Its log then lacks the last entry
   * of the holder, which must not serve its state any more.
   */
  async renew({ term }: LeaseHeld, { holder, ttlMs, applied }: LeaseClaim): Promise<boolean> {
    const { index, term: entryTerm, nonce } = applied ?? NO_ENTRY
    const renewed = await this.#query<{ readonly term: string }>('renewing the lease', {
      text: `UPDATE reeve_leader SET expires_at = ${EXPIRES_AT}
        WHERE id = 1 AND term = $3 AND holder = $1 AND expires_at > clock_timestamp()
          AND ($6 = '' OR EXISTS (
            SELECT 1 FROM reeve_log WHERE commit_index = $4 AND term = $5 AND nonce = $6))
        RETURNING term`,
      values: [holder, ttlMs, term, index, entryTerm, nonce],
    })
    return renewed.length === 1
  }

  async release({ term }: LeaseHeld): Promise<void> {
    await this.#query('giving the lease back', {
      text: `UPDATE reeve_leader SET expires_at = clock_timestamp(), address = ''
        WHERE id = 1 AND term = $1 RETURNING term, ${NOTIFY_LEASE}`,
      values: [term],
    })
  }

  async read(): Promise<LeaseStatus> {
    const text = `SELECT ${LEASE_COLUMNS} FROM reeve_leader WHERE id = 1`
    const [row] = await this.#query<LeaseRow>('asking who leads', { text })
    if (row === undefined) return { term: 0, holder: '', address: '', remainingMs: 0 }
    const { term, holder, address, left_ms: leftMs } = row
    return { term: Number(term), holder, address, remainingMs: Math.max(0, leftMs) }
  }

  async #query<R extends Record<string, unknown>>(
    operation: string,
    statement: { readonly text: string; readonly values?: readonly unknown[] },
  ): Promise<readonly R[]> {
    return await this.#pools.lease.query<R>(statement).catch((thrown: unknown) => {
      throw toPostgresFault(thrown, this.#pools.target.name, operation)
    })
  }
}

type ServerRow = Omit<ServerRecord, 'state'> & {
  readonly state: string
  readonly silent_ms: number
}

const olderThan = (ms: string): string =>
  `seen_at < clock_timestamp() - ${ms} * interval '1 millisecond'`

/** The server registry, one row per server. Times are those of the database, as for the lease. */
export class PostgresServerRegistry implements ServerRegistry {
  readonly #pools: ConnectionPools

  constructor(lanes: ConnectionPools) {
    this.#pools = lanes
  }

  async heartbeat(entry: ServerRecord, { failedMs, retentionMs }: RegistryTimeouts): Promise<void> {
    const { id, name, address, region, datacenter, build, state } = entry
    await this.#query('signing the roll of servers', {
      text: `WITH forgotten AS (
          DELETE FROM reeve_servers WHERE id <> $1 AND (address = $3
            OR (name = $2 AND (state = 'left' OR ${olderThan('$8')})) OR ${olderThan('$9')})
        )
        INSERT INTO reeve_servers (id, name, address, region, datacenter, build, state, seen_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET name = $2, address = $3, region = $4, datacenter = $5,
          build = $6, state = $7, seen_at = clock_timestamp()`,
      values: [id, name, address, region, datacenter, build, state, failedMs, retentionMs],
    })
  }

  async retire(name: string, { prune, failedMs }: Retirement): Promise<void> {
    const isInactive = `name = $1 AND (state = 'left' OR ${olderThan('$2')})`
    await this.#query('retiring a server', {
      text: prune
        ? `DELETE FROM reeve_servers WHERE ${isInactive}`
        : `UPDATE reeve_servers SET state = 'left' WHERE ${isInactive}`,
      values: [name, failedMs],
    })
  }

  async list(): Promise<readonly RegisteredServer[]> {
    const rows = await this.#query<ServerRow>('reading the roll of servers', {
      text: `SELECT id, name, address, region, datacenter, build, state,
          (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::double precision AS silent_ms
        FROM reeve_servers`,
    })
    return rows.map(({ silent_ms: silentMs, state, ...entry }) => {
      // A state of a newer version: the server sends heartbeats, so it is alive.
      const knownState = SERVER_STATES.find((one) => one === state) ?? 'serving'
      return { ...entry, state: knownState, sinceHeartbeatMs: Math.max(0, silentMs) }
    })
  }

  async #query<R extends Record<string, unknown>>(
    operation: string,
    statement: Statement,
  ): Promise<readonly R[]> {
    return await this.#pools.registry.query<R>(statement).catch((thrown: unknown) => {
      throw toPostgresFault(thrown, this.#pools.target.name, operation)
    })
  }
}

/** True if a loss of commits is recorded and not accepted: appends are rejected then. */
export const HAS_UNACCEPTED_LOSS = `EXISTS (SELECT 1 FROM reeve_losses WHERE accepted_at IS NULL)`

const LOSS_COLUMNS = `id, from_index, to_index, found_by, found_at, accepted_at`

type LossRow = {
  readonly id: string
  readonly from_index: string
  readonly to_index: string
  readonly found_by: string
  readonly found_at: Date
  readonly accepted_at: Date | null
}

/** One row per loss of commits; there are few, and they are never removed. Rejects with a Fault. */
export class PostgresLosses implements LossStore {
  readonly #runner: QueryRunner
  readonly #makeRetry: () => Retry

  constructor(lanes: ConnectionPools, makeRetry: () => Retry) {
    this.#runner = lanes.read
    this.#makeRetry = makeRetry
  }

  async list(): Promise<readonly CommitLoss[]> {
    const text = `SELECT ${LOSS_COLUMNS} FROM reeve_losses ORDER BY found_at, id`
    return (await this.#run('reading its losses', { text })).map(toCommitLoss)
  }

  async record({
    id,
    foundBy,
    fromIndex,
    toIndex,
  }: Pick<CommitLoss, 'id' | 'foundBy' | 'fromIndex' | 'toIndex'>): Promise<void> {
    await this.#run('recording a loss', {
      text: `INSERT INTO reeve_losses (id, from_index, to_index, found_by, found_at)
        VALUES ($1, $2, $3, $4, clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET
          from_index = least(reeve_losses.from_index, excluded.from_index),
          to_index = greatest(reeve_losses.to_index, excluded.to_index)`,
      values: [id, fromIndex, toIndex, foundBy],
    })
  }

  async accept(by: string): Promise<readonly CommitLoss[]> {
    const rows = await this.#run('accepting a loss', {
      text: `UPDATE reeve_losses SET accepted_by = $1, accepted_at = clock_timestamp()
        WHERE accepted_at IS NULL RETURNING ${LOSS_COLUMNS}`,
      values: [by],
    })
    return rows.map(toCommitLoss)
  }

  async #run(operation: string, statement: Statement): Promise<readonly LossRow[]> {
    return await this.#makeRetry().run(operation, () => this.#runner.query<LossRow>(statement))
  }
}

function toCommitLoss(row: LossRow): CommitLoss {
  return {
    id: row.id,
    fromIndex: Number(row.from_index),
    toIndex: Number(row.to_index),
    foundBy: row.found_by,
    foundAtMs: row.found_at.getTime(),
    acceptedAtMs: row.accepted_at?.getTime(),
  }
}
