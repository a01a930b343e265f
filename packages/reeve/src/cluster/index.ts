export {
  type ChangeNotifier,
  type FollowedEntry,
  type FollowedLog,
  FollowerLoop,
  type NotifierSubscription,
  type StorageChange,
} from './follower-loop.ts'
export {
  ACCEPT_COMMAND,
  type CommitLoss,
  countLostCommits,
  describeRejectedWrites,
  LossMonitor,
  type LossStore,
} from './commit-loss.ts'
export { compareWithLog, LOG_DIVERGED, LogHistory, NO_ENTRY } from './log-history.ts'
export type { EntryId } from './log-history.ts'
export {
  DEFAULT_LEASE_TIMING,
  type Leadership,
  type LeaseClaim,
  type LeaseHeld,
  LeaseKeeper,
  type LeaseStatus,
  type LeaseStore,
} from './lease.ts'
export {
  assertAdjacentVersions,
  clusterMembers,
  DEFAULT_HEARTBEAT,
  matchesServerName,
  type Member,
  type RegisteredServer,
  type RegistryTimeouts,
  type Retirement,
  SERVER_STATES,
  ServerHeartbeat,
  type ServerRecord,
  type ServerRegistry,
} from './server-registry.ts'
export { ClusterRequestRouter } from './request-router.ts'
export { FORWARDED_HEADER } from './forward-header.ts'
