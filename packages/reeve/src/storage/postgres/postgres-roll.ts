import {
  ROLL_STATES,
  type Retirement,
  type RollEntry,
  type RollFound,
  type RollLimits,
  type RollStore,
} from '../../cluster/index.ts'
import type { Lanes, Statement } from './lanes.ts'
import { toPostgresFault } from './postgres-faults.ts'

type RollRow = Omit<RollEntry, 'state'> & {
  readonly state: string
  readonly silent_ms: number
}

const LONGER_THAN = (ms: string): string =>
  `seen_at < clock_timestamp() - ${ms} * interval '1 millisecond'`

/** The roll as a row for each server. Times are the database's, as those of the lease. */
export class PostgresRoll implements RollStore {
  readonly #lanes: Lanes

  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  async sign(entry: RollEntry, { failedMs, forgetMs }: RollLimits): Promise<void> {
    const { id, name, address, region, datacenter, build, state } = entry
    await this.#query('signing the roll of servers', {
      text: `WITH forgotten AS (
          DELETE FROM reeve_servers WHERE id <> $1 AND (address = $3
            OR (name = $2 AND (state = 'left' OR ${LONGER_THAN('$8')})) OR ${LONGER_THAN('$9')})
        )
        INSERT INTO reeve_servers (id, name, address, region, datacenter, build, state, seen_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET name = $2, address = $3, region = $4, datacenter = $5,
          build = $6, state = $7, seen_at = clock_timestamp()`,
      values: [id, name, address, region, datacenter, build, state, failedMs, forgetMs],
    })
  }

  async retire(name: string, { prune, failedMs }: Retirement): Promise<void> {
    const gone = `name = $1 AND (state = 'left' OR ${LONGER_THAN('$2')})`
    await this.#query('retiring a server', {
      text: prune
        ? `DELETE FROM reeve_servers WHERE ${gone}`
        : `UPDATE reeve_servers SET state = 'left' WHERE ${gone}`,
      values: [name, failedMs],
    })
  }

  async read(): Promise<readonly RollFound[]> {
    const rows = await this.#query<RollRow>('reading the roll of servers', {
      text: `SELECT id, name, address, region, datacenter, build, state,
          (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::double precision AS silent_ms
        FROM reeve_servers`,
    })
    return rows.map(({ silent_ms: silentMs, state, ...entry }) => {
      // A state that a newer version knows: it signs, so it is there.
      const known = ROLL_STATES.find((one) => one === state) ?? 'serving'
      return { ...entry, state: known, silentMs: Math.max(0, silentMs) }
    })
  }

  async #query<R extends Record<string, unknown>>(
    doing: string,
    statement: Statement,
  ): Promise<readonly R[]> {
    return await this.#lanes.roll.query<R>(statement).catch((thrown: unknown) => {
      throw toPostgresFault(thrown, this.#lanes.target.name, doing)
    })
  }
}
