/** How often nodes speak, and how long they may be silent. */
export interface PresenceSettings {
  /** The least time between two heartbeats of a node. */
  readonly heartbeatMsMin: number
  /** Heartbeats of all nodes together: with many nodes each speaks less often. */
  readonly heartbeatsPerSecondMax: number
  /** How long a heartbeat may be late. */
  readonly graceMs: number
  /** How long nodes may be away after a start of the server, which has heard nobody yet. */
  readonly returnMs: number
}

/**
 * A heartbeat is a few bytes on a channel that is open, so they may come often: a node that is gone
 * is noticed after 20 s, and ten thousand nodes still keep a server busy for a few percent only.
 */
export const DEFAULT_PRESENCE: PresenceSettings = {
  heartbeatMsMin: 5_000,
  heartbeatsPerSecondMax: 1_000,
  graceMs: 15_000,
  returnMs: 60_000,
}

export function heartbeatMsFor(
  nodeCount: number,
  { heartbeatMsMin, heartbeatsPerSecondMax }: PresenceSettings,
): number {
  return Math.max(heartbeatMsMin, Math.ceil((nodeCount * 1_000) / heartbeatsPerSecondMax))
}
