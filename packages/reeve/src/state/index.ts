export { auditKey, outcomeRecord, SYSTEM } from './audit-entry.ts'
export type { AuditEntry, AuditOutcome, Author, CommitAuthor } from './audit-entry.ts'
export { expiredAuditRecords, findAuditRecords } from './audit-records.ts'
export type { AuditLimits, AuditPage, AuditQuery } from './audit-records.ts'
export type { Commit, CommittedRow, EventRef } from './commit.ts'
export { decodeCommit } from './codec.ts'
export type { CommitLog } from './commit-log.ts'
export type {
  BlobChange,
  CheckpointPosition,
  CheckpointRow,
  EnginePosition,
  LogEntry,
  MigratableEngine,
  AppendEntry,
  RecoverableEngine,
  Recovery,
  StorageEngine,
  StoredBlob,
} from './engine.ts'
export { isRecoverable } from './engine.ts'
export { joinRowJson } from './row-text.ts'
export { organizationOfEvent } from './events.ts'
export type { Cause } from './events.ts'
export {
  unattachedSetKey,
  normalizeName,
  policyCodeBlobKey,
  policySetMemberIndexKey,
  DRIFT_CHECKED_KEY,
  SCHEDULED_KEY,
  tagKey,
} from './governance-tables.ts'
export {
  sealedPartBlobKey,
  ENABLED_NOTIFICATION_KEY,
  isOpenPhase,
  KILLED_PHASE_KEY,
  OPEN_PHASE_KEY,
  planBlobKey,
  planPartBlobKey,
  RETRIED_NOTIFICATION_KEY,
  runLogPartBlobKey,
  scopedKey,
  WAITING_KEY,
} from './run-tables.ts'
export type { GovernanceRows } from './governance-tables.ts'
export { withDerivedRows } from './job-rows.ts'
export { childJobRows, type ChildOptions } from './child-rows.ts'
export { countChildren } from './children.ts'
export { DEFAULT_GC_THRESHOLDS, ZERO_GC_THRESHOLDS } from './garbage/ages.ts'
export type { GcThresholds } from './garbage/ages.ts'
export { runGc } from './garbage/collect-garbage.ts'
export { mayBeRescheduled } from './garbage/collectable.ts'
export { planGcBatch, firstCursor } from './garbage/decide-garbage.ts'
export type { GcCursor } from './garbage/decide-garbage.ts'
export type { GcCounts } from './garbage/slice.ts'
export { NodeUsageTracker } from './node-usages.ts'
export { nodeEvaluations } from './node-evaluations.ts'
export { purgeJobRows } from './purged-job.ts'
export {
  failureRows,
  decideFailure,
  promotionRows,
  deploymentEvaluation,
} from './rollout-writes.ts'
export type { FailedDeployment, DeploymentWrite } from './rollout-writes.ts'
export {
  clusterLevel,
  findSetting,
  FIRST_LEVEL,
  isBrokerPaused,
  schedulerConfiguration,
} from './settings.ts'
export { SnapshotChecker } from './copy-checker.ts'
export { snapshotEntry, takeSnapshot } from './state-copy.ts'
export type { SnapshotRow, StateSnapshot } from './state-copy.ts'
export { put, remove, Store } from './store.ts'
export type { Change, CommitResult, CommitRequest, Stamp, StoreOptions } from './store.ts'
export type { NamespaceScope, NamespaceSet } from './namespace-indexes.ts'
export { compareCreation } from './order-of-creation.ts'
export type { OrderKey } from './order-of-creation.ts'
export { joinStoredRow, splitStoredRow } from './stored-row.ts'
export type { OffHeapText, StoredRow } from './stored-row.ts'
export type { Table } from './table.ts'
export {
  dispatchKey,
  isOpenEvaluation,
  policyInputBlobKey,
  jobVersionKey,
  namespacedKey,
  scalingEventsKey,
  verdictIndexKey,
} from './tables.ts'
export type { NamespacedTable, Row, TableName, TableObserver, Tables } from './tables.ts'
export { nextVersionNumber, versionRows } from './version-rows.ts'
export type { VersionOptions } from './version-rows.ts'
export { withVolumeRows } from './volume-rows.ts'
export type { Watches, WatchTarget } from './watches.ts'
