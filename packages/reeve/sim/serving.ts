import type { ServerChannel } from './channel-socket.ts'
import type { Draws } from './draws.ts'
import type { Leader } from './leader.ts'

/** Something that goes wrong with servers, and how often. */
export type ServerFault = readonly [weight: number, strike: (draws: Draws) => void]

/**
 * How far a clock may be wrong. Hours are more than any deadline of a world, and more than it waits
 * for quiet.
 */
export const CLOCK_SKEWS_MS = [
  -6 * 3_600_000,
  -3_600_000,
  -90_000,
  -15_000,
  -1_000,
  1_000,
  15_000,
  90_000,
  3_600_000,
  6 * 3_600_000,
] as const

/** Whoever serves a world: one server, or several. */
export interface Serving {
  /** Who leads; undefined while nobody does. */
  readonly leader: Leader | undefined
  /** How often a server went. */
  readonly crashes: number
  readonly faults: readonly ServerFault[]
  /** Those of them that concern clocks, and what makes them worse. */
  readonly clockFaults: readonly ServerFault[]
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
