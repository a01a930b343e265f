import type { World } from '../world.ts'
import type { DatabaseConditions } from './database-link.ts'
import type { SimServer } from './sim-server.ts'

/** Servers that share a database, as seen by clients and faults. */
export interface SimCluster {
  readonly world: World
  readonly servers: readonly SimServer[]
  readonly databaseConditions: DatabaseConditions
  kill(server: SimServer, reason: string): void
  /** Stops the server gracefully. */
  stop(server: SimServer): void
  /** Partitions two parties: servers, nodes by id, or `database`. */
  partition(a: string, b: string): void
  heal(a: string, b: string): void
  isPartitioned(a: string, b: string): boolean
  /** Whether fault injection has ended. */
  readonly areFaultsStopped: boolean
  /** Sets the wall clock of a server to be ahead of its initial setting. */
  setClock(server: SimServer, aheadMs: number): void
  serverAt(address: string): SimServer | undefined
  /** The length of the log at that time. */
  logLengthAt(elapsedMs: number): number
}
