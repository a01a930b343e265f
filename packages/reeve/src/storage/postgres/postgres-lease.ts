import {
  NO_ENTRY,
  type LeaseStore,
  type LeaseClaim,
  type LeaseStatus,
  type LeaseHeld,
} from '../../cluster/index.ts'
import type { ConnectionPools } from './lanes.ts'
import { HAS_UNFINISHED_IMPORT } from './marks.ts'
import { NOTIFY_CHANNELS } from './postgres-bell.ts'
import { toPostgresFault } from './postgres-faults.ts'

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
