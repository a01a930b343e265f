import type { ServerChannel } from './network.ts'
import type { RandomStream } from './random-stream.ts'
import type { SimLeader } from './sim-leader.ts'

/** A fault of servers with its weight. */
export type ServerFault = readonly [weight: number, strike: (random: RandomStream) => void]

/**
 * How far a clock may be wrong. Hours exceed every deadline of a world and the time it waits for
 * quiet.
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

/** The servers of a world: one server or a cluster. */
export interface ServerBackend {
  /** The current leader, if any. */
  readonly leader: SimLeader | undefined
  /** Number of server crashes. */
  readonly crashes: number
  readonly faults: readonly ServerFault[]
  /** The faults that concern clocks, and those that aggravate them. */
  readonly clockFaults: readonly ServerFault[]
  open(): Promise<void>
  /** The acceptor for connections of a node; undefined if there is no leader. */
  accept(nodeId: string): ((channel: ServerChannel) => void) | undefined
  /** Kills all leading servers and restarts them after a while. */
  crash(reason: string): Promise<void>
  /** Ends fault injection for servers. */
  stopFaults(): void
  /** Checks the servers at the end of the simulation. */
  finalCheck(): Promise<void>
}
