import type { ServerChannel } from './channel-socket.ts'
import type { Draws } from './draws.ts'
import type { Leader } from './leader.ts'

/** Something that goes wrong with servers, and how often. */
export type ServerFault = readonly [weight: number, strike: (draws: Draws) => void]

/** Whoever serves a world: one server, or several. */
export interface Serving {
  /** Who leads; undefined while nobody does. */
  readonly leader: Leader | undefined
  /** How often a server went. */
  readonly crashes: number
  readonly faults: readonly ServerFault[]
  open(): Promise<void>
  /** Who takes a connection of a node; undefined while nobody does. */
  accept(nodeId: string): ((channel: ServerChannel) => void) | undefined
  /** All that leads dies now, and comes back after a while. */
  crash(reason: string): Promise<void>
  /** From here on nothing goes wrong with servers. */
  calm(): void
  /** Looks at the end whether all is well with them. */
  judge(): Promise<void>
}
