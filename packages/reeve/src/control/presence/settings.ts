/** Heartbeat interval and tolerance. */
export interface HeartbeatSettings {
  /** Minimum interval between heartbeats of a node. */
  readonly heartbeatMsMin: number
  /** Limit for the heartbeats of all nodes; with many nodes the interval grows. */
  readonly heartbeatsPerSecondMax: number
  /** Time that a heartbeat may be late. */
  readonly graceMs: number
  /** Time for nodes to reconnect after a start of the server. */
  readonly failoverTtlMs: number
}

/**
 * Heartbeats are a few bytes on an open channel, so they can be frequent: a lost node is detected
 * after 20 s, and ten thousand nodes cost a few percent of a server's CPU.
 */
export const DEFAULT_HEARTBEAT_SETTINGS: HeartbeatSettings = {
  heartbeatMsMin: 5_000,
  heartbeatsPerSecondMax: 1_000,
  graceMs: 15_000,
  failoverTtlMs: 60_000,
}

export function heartbeatIntervalMs(
  nodeCount: number,
  { heartbeatMsMin, heartbeatsPerSecondMax }: HeartbeatSettings,
): number {
  return Math.max(heartbeatMsMin, Math.ceil((nodeCount * 1_000) / heartbeatsPerSecondMax))
}
