import type { World } from '../world.ts'
import type { DatabaseTrouble } from './database-link.ts'
import type { SimServer } from './sim-server.ts'

/** Servers that share a database, as clients and faults see them. */
export interface ClusterView {
  readonly world: World
  readonly servers: readonly SimServer[]
  readonly trouble: DatabaseTrouble
  kill(server: SimServer, reason: string): void
  /** Asks it to stop in order. */
  stop(server: SimServer): void
  /** Two do not hear each other from now on: servers, nodes by their id, `database`. */
  part(a: string, b: string): void
  join(a: string, b: string): void
  isApart(a: string, b: string): boolean
  /** Nothing goes wrong any more. */
  readonly isCalm: boolean
  /** Sets the clock on its wall: so far ahead of what it showed at first. */
  setClock(server: SimServer, aheadMs: number): void
  serverAt(address: string): SimServer | undefined
  /** How many entries the log had then. */
  lengthAt(elapsedMs: number): number
}
