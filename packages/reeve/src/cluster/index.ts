export { FollowLoop, type FollowedEngine, type FollowedEntry } from './follow-loop.ts'
export type { FollowedLog } from './follow-loop.ts'
export {
  ACCEPT_COMMAND,
  describeRefusal,
  lostCommits,
  type CommitLoss,
  type LossStore,
} from './commit-loss.ts'
export { compareWithLog, LOG_DIVERGED, LogHistory, NO_ENTRY } from './log-history.ts'
export type { EntryId, LogEnd, LostRange } from './log-history.ts'
export { LossMonitor } from './loss-monitor.ts'
export { LEASE, type LeaseSettings, type Leadership } from './lease.ts'
export { LeaseKeeper, type LeaseKeeperOptions } from './lease-keeper.ts'
export type { LeaseClaim, LeaseFound, LeaseHeld, LeaseStore } from './lease-store.ts'
export { assertAdjacentVersions } from './adjacent-versions.ts'
export { isNamed, membersOf, ROLL, type Member, type RollSettings } from './roll.ts'
export { RollKeeper, type RollKeeperOptions } from './roll-keeper.ts'
export { ROLL_STATES, type RollEntry, type RollFound } from './roll-store.ts'
export type { Retirement, RollLimits, RollStore } from './roll-store.ts'
export { RequestGate } from './request-gate.ts'
export { HOP_HEADER } from './hop.ts'
export { endToEnd, headText, limitConnect, onGone, passBody, rejectUpgrade } from './wire.ts'
export type { Listening, LogBell, Rung } from './log-bell.ts'
