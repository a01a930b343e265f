import {
  SERVER_STATES,
  type Retirement,
  type ServerRecord,
  type RegisteredServer,
  type RegistryTimeouts,
  type ServerRegistry,
} from '../../cluster/index.ts'
import type { ConnectionPools, Statement } from './lanes.ts'
import { toPostgresFault } from './postgres-faults.ts'

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
