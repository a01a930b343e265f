export { FollowerLoop, type FollowableEngine, type FollowedEntry } from './follow-loop.ts'
export type { FollowedLog } from './follow-loop.ts'
export {
  ACCEPT_COMMAND,
  describeRejectedWrites,
  countLostCommits,
  type CommitLoss,
  type LossStore,
} from './commit-loss.ts'
export { compareWithLog, LOG_DIVERGED, LogHistory, NO_ENTRY } from './log-history.ts'
export type { EntryId, LogEnd, LostRange } from './log-history.ts'
export { LossMonitor } from './loss-monitor.ts'
export { DEFAULT_LEASE_TIMING, type LeaseTiming, type Leadership } from './lease.ts'
export { LeaseKeeper, type LeaseKeeperOptions } from './lease-keeper.ts'
export type { LeaseClaim, LeaseStatus, LeaseHeld, LeaseStore } from './lease-store.ts'
export { assertAdjacentVersions } from './adjacent-versions.ts'
export {
  matchesServerName,
  clusterMembers,
  DEFAULT_HEARTBEAT,
  type Member,
  type HeartbeatTiming,
} from './roll.ts'
export { ServerHeartbeat, type ServerHeartbeatOptions } from './roll-keeper.ts'
export { SERVER_STATES, type ServerRecord, type RegisteredServer } from './roll-store.ts'
export type { Retirement, RegistryTimeouts, ServerRegistry } from './roll-store.ts'
export { ClusterRequestRouter } from './request-gate.ts'
export { FORWARDED_HEADER } from './hop.ts'
export {
  endToEndHeaders,
  formatResponseHead,
  setConnectTimeout,
  onClientDisconnect,
  pipeRequestBody,
  rejectUpgrade,
} from './wire.ts'
export type { NotifierSubscription, ChangeNotifier, StorageChange } from './log-bell.ts'
