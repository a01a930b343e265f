import type { World } from '../world.ts'
import type { DatabaseTrouble } from './database-link.ts'
import type { SimServer } from './sim-server.ts'

/** Servers that share a database, as seen by clients and faults. */
export interface ClusterView {
  readonly world: World
  readonly servers: readonly SimServer[]
  readonly trouble: DatabaseTrouble
  kill(server: SimServer, reason: string): void
  /** Stops the server gracefully. */
  stop(server: SimServer): void
  /** Partitions two parties: servers, nodes by id, or `database`. */
  part(a: string, b: string): void
  join(a: string, b: string): void
  isApart(a: string, b: string): boolean
  /** Whether fault injection has ended. */
  readonly isCalm: boolean
  /** Sets the wall clock of a server to be ahead of its initial setting. */
  setClock(server: SimServer, aheadMs: number): void
  serverAt(address: string): SimServer | undefined
  /** The length of the log at that time. */
  lengthAt(elapsedMs: number): number
}
