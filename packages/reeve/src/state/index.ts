export { auditKey, outcomeRecord, SYSTEM } from './audit-entry.ts'
export type { AuditEntry, AuditOutcome, Author, CommitAuthor } from './audit-entry.ts'
export { expiredAuditRecords, findAuditRecords } from './audit-records.ts'
export type { AuditLimits, AuditPart, AuditWish } from './audit-records.ts'
export type { Commit, CommittedRow, EventMark } from './commit.ts'
export { decodeCommit } from './codec.ts'
export type { CommitLog } from './commit-log.ts'
export type {
  BlobChange,
  CheckpointMark,
  CheckpointRow,
  EnginePosition,
  LogEntry,
  MovableEngine,
  NewLogEntry,
  RecoverableEngine,
  Recovery,
  StorageEngine,
  StoredBlob,
} from './engine.ts'
export { isRecoverable } from './engine.ts'
export { wholeText } from './row-text.ts'
export { organizationOfEvent } from './events.ts'
export type { Cause } from './events.ts'
export {
  broadSetGroup,
  foldName,
  policyCodeKey,
  policySetMemberGroup,
  DRIFT_CHECKED_WORKSPACES,
  SCHEDULED_WORKSPACES,
  tagKey,
} from './governance-tables.ts'
export {
  blobPartKey,
  ENABLED_NOTIFICATIONS,
  isOpenPhase,
  KILLED_PHASES,
  OPEN_PHASES,
  planKey,
  planPartKey,
  RETRIED_NOTIFICATIONS,
  runLogPartKey,
  scopedKey,
  WAITING_RUNS,
} from './run-tables.ts'
export type { GovernanceRows } from './governance-tables.ts'
export { withJobRows } from './job-rows.ts'
export { childRows, type ChildOptions } from './child-rows.ts'
export { countChildren } from './children.ts'
export { GARBAGE_AGES, NO_AGES } from './garbage/ages.ts'
export type { GarbageAges } from './garbage/ages.ts'
export { collectGarbage } from './garbage/collect-garbage.ts'
export { mayRunAgain } from './garbage/collectable.ts'
export { decideGarbage, firstCursor } from './garbage/decide-garbage.ts'
export type { GarbageCursor } from './garbage/decide-garbage.ts'
export type { GarbageCounts } from './garbage/slice.ts'
export { NodeUsages } from './node-usages.ts'
export { nodeEvaluations } from './node-evaluations.ts'
export { purgedJobRows } from './purged-job.ts'
export { failureRows, planFailure, promotionRows, rolloutEvaluation } from './rollout-writes.ts'
export type { RolloutFailure, RolloutWrite } from './rollout-writes.ts'
export {
  clusterLevel,
  findSetting,
  FIRST_LEVEL,
  isBrokerPaused,
  schedulerConfiguration,
} from './settings.ts'
export { CopyChecker } from './copy-checker.ts'
export { copiedEntry, copyState } from './state-copy.ts'
export type { CopiedRow, StateCopy } from './state-copy.ts'
export { put, remove, Store } from './store.ts'
export type { Change, Commitment, CommitRequest, Stamp, StoreOptions } from './store.ts'
export type { NamespaceScope, NamespaceSet } from './namespace-indexes.ts'
export { compareCreation } from './order-of-creation.ts'
export type { OrderKey } from './order-of-creation.ts'
export { storedTextOf, toStoredRow } from './stored-row.ts'
export type { HeldText, StoredRow } from './stored-row.ts'
export type { Table } from './table.ts'
export {
  dispatchKey,
  isOpenEvaluation,
  judgedJobKey,
  jobVersionKey,
  namespacedKey,
  scalingEventsKey,
  verdictGroup,
} from './tables.ts'
export type { NamespacedTable, Row, TableName, TableObserver, Tables } from './tables.ts'
export { nextVersionNumber, versionRows } from './version-rows.ts'
export type { VersionOptions } from './version-rows.ts'
export { withVolumeRows } from './volume-rows.ts'
export type { Watches, WatchTarget } from './watches.ts'
