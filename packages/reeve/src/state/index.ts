export { auditKey, outcomeRecord, SYSTEM } from './audit-entry.ts'
export type { AuditEntry, AuditOutcome, Author, CommitAuthor } from './audit-entry.ts'
export { type AuditLimits, expiredAuditRecords, findAuditRecords } from './schema/audit-records.ts'
export {
  type Commit,
  type CommittedRow,
  type EventRef,
  joinStoredRow,
  type OffHeapText,
  splitStoredRow,
  type StoredRow,
} from './commit.ts'
export { decodeCommit } from './commit-codec.ts'
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
export { joinRowJson } from './table/row-json.ts'
export { organizationOfEvent } from './events.ts'
export type { Cause } from './events.ts'
export {
  DRIFT_CHECKED_KEY,
  type GovernanceRows,
  normalizeName,
  policyCodeBlobKey,
  policySetMemberIndexKey,
  SCHEDULED_KEY,
  tagKey,
  unattachedSetKey,
} from './schema/governance-tables.ts'
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
} from './schema/run-tables.ts'
export { withDerivedRows } from './writes/derived-rows.ts'
export {
  childJobRows,
  countChildren,
  nextVersionNumber,
  purgeJobRows,
  versionRows,
} from './writes/job-version.ts'
export {
  DEFAULT_GC_THRESHOLDS,
  type GcCounts,
  type GcThresholds,
  ZERO_GC_THRESHOLDS,
} from './gc/gc-batch.ts'
export { firstCursor, planGcBatch, runGc } from './gc/plan-gc.ts'
export { mayBeRescheduled } from './gc/gc-rows.ts'
export { nodeEvaluations, NodeUsageTracker } from './writes/node-rows.ts'
export {
  decideFailure,
  deploymentEvaluation,
  type DeploymentWrite,
  failureRows,
  promotionRows,
} from './writes/deployment-transitions.ts'
export {
  clusterLevel,
  findSetting,
  FIRST_LEVEL,
  isBrokerPaused,
  schedulerConfiguration,
} from './schema/settings.ts'
export {
  isRestore,
  restoreBlobs,
  restoreChanges,
  type RestoredState,
  SnapshotChecker,
  snapshotEntry,
  type SnapshotRow,
  type StateSnapshot,
  takeSnapshot,
} from './state-snapshot.ts'
export type { CommitResult } from './commit-request.ts'
export { put, remove, Store } from './store.ts'
export type { Change, Stamp, StoreOptions } from './store.ts'
export type { NamespaceScope, NamespaceSet, WatchTarget } from './watches.ts'
export { compareCreation, type OrderKey } from './table/key-order.ts'
export type { Table } from './table/table.ts'
export {
  dispatchKey,
  isOpenEvaluation,
  jobVersionKey,
  namespacedKey,
  type NamespacedTable,
  policyInputBlobKey,
  type Row,
  scalingEventsKey,
  type IndexName,
  type TableName,
  type TableObserver,
  type Tables,
  failingIndexKey,
  verdictIndexKey,
} from './schema/tables.ts'
export { withVolumeRows } from './writes/volume-rows.ts'
