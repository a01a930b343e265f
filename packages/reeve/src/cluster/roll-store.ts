/**
 * Registry of the cluster's servers, in the same storage as the log; each server sends heartbeats.
 * Times are the storage's. One shared suite (test/suites/roll-store.ts) tests every implementation
 * against these comments. Faults are those of the storage.
 */
export interface ServerRegistry {
  /**
   * Upserts the record of a server. Deletes records with the same address, records of the same name
   * that left or failed, and any older than `retentionMs`.
   */
  heartbeat(server: ServerRecord, limits: RegistryTimeouts): Promise<void>

  /**
   * Marks the servers of this name that have left or failed as left, or removes them with `prune`.
   * Servers that are alive are not changed.
   */
  retire(name: string, retirement: Retirement): Promise<void>

  /** Returns every record, in any order. */
  list(): Promise<readonly RegisteredServer[]>
}

export interface Retirement extends Pick<RegistryTimeouts, 'failedMs'> {
  readonly prune: boolean
}

/** A server's record as it describes itself. */
export interface ServerRecord {
  /** Id of a process: a restarted server is another one. */
  readonly id: string
  readonly name: string
  /** `host:port` at which other servers reach it over HTTP. */
  readonly address: string
  readonly region: string
  readonly datacenter: string
  /** Version of Reeve. */
  readonly build: string
  readonly state: ServerState
}

export const SERVER_STATES = ['serving', 'leaving', 'left'] as const
export type ServerState = (typeof SERVER_STATES)[number]

export interface RegisteredServer extends ServerRecord {
  /** Time since the last heartbeat, as of the response. */
  readonly sinceHeartbeatMs: number
}

export interface RegistryTimeouts {
  /** A server without a heartbeat for longer has failed. */
  readonly failedMs: number
  /** A server without a heartbeat for longer is deleted. */
  readonly retentionMs: number
}
