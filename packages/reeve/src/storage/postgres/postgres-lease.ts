import {
  NO_ENTRY,
  type LeaseStore,
  type LeaseClaim,
  type LeaseFound,
  type LeaseHeld,
} from '../../cluster/index.ts'
import type { Lanes } from './lanes.ts'
import { IS_UNFINISHED } from './marks.ts'
import { CHANNELS } from './postgres-bell.ts'
import { toPostgresFault } from './postgres-faults.ts'

type LeaseRow = {
  readonly term: string
  readonly holder: string
  readonly address: string
  readonly left_ms: number
}

const FOUND = `term, holder, address,
  (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::double precision AS left_ms`
/** In what `RETURNING` gives: followers look again when a statement has moved the lease. */
const TOLD = `pg_notify('${CHANNELS.lease}', '') AS told`
const EXPIRY = `clock_timestamp() + $2 * interval '1 millisecond'`

/** The lease as a row. Times are the database's, so the clocks of servers need not agree. */
export class PostgresLease implements LeaseStore {
  readonly #lanes: Lanes

  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  /**
   * The same holder may take it again: the answer to its first claim may have been lost.
   * A new term moves into the rows that guard the log and the checkpoint, in the same
   * statement. Nobody leads half a state: while it is marked so, only who fills it gets the lease.
   */
  async acquire(
    { holder, address, ttlMs }: LeaseClaim,
    { isToFill = false }: { readonly isToFill?: boolean } = {},
  ): Promise<LeaseHeld | undefined> {
    const [taken] = await this.#query<{ readonly term: string }>('taking the lease', {
      text: `WITH leader AS (
          UPDATE reeve_leader SET term = term + 1, holder = $1, address = $3, expires_at = ${EXPIRY}
          WHERE id = 1 AND (expires_at <= clock_timestamp() OR holder = $1)
            AND ($4 OR NOT ${IS_UNFINISHED}) RETURNING term
        ), head AS (
          UPDATE reeve_head SET term = leader.term FROM leader WHERE id = 1 RETURNING leader.term
        )
        UPDATE reeve_checkpoint SET term = head.term, step = 0 FROM head WHERE id = 1
        RETURNING head.term, ${TOLD}`,
      values: [holder, ttlMs, address, isToFill],
    })
    return taken === undefined ? undefined : { term: Number(taken.term) }
  }

  /**
   * A database that went back in time may still show this lease. Its log then lacks the last entry
   * of the holder, which must not answer from its state any more.
   */
  async renew({ term }: LeaseHeld, { holder, ttlMs, applied }: LeaseClaim): Promise<boolean> {
    const { index, term: entryTerm, nonce } = applied ?? NO_ENTRY
    const renewed = await this.#query<{ readonly term: string }>('renewing the lease', {
      text: `UPDATE reeve_leader SET expires_at = ${EXPIRY}
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
        WHERE id = 1 AND term = $1 RETURNING term, ${TOLD}`,
      values: [term],
    })
  }

  async find(): Promise<LeaseFound> {
    const text = `SELECT ${FOUND} FROM reeve_leader WHERE id = 1`
    const [found] = await this.#query<LeaseRow>('asking who leads', { text })
    if (found === undefined) return { term: 0, holder: '', address: '', leftMs: 0 }
    const { term, holder, address, left_ms: leftMs } = found
    return { term: Number(term), holder, address, leftMs: Math.max(0, leftMs) }
  }

  async #query<R extends Record<string, unknown>>(
    doing: string,
    statement: { readonly text: string; readonly values?: readonly unknown[] },
  ): Promise<readonly R[]> {
    return await this.#lanes.lease.query<R>(statement).catch((thrown: unknown) => {
      throw toPostgresFault(thrown, this.#lanes.target.name, doing)
    })
  }
}
