export type { Commit, CommittedRow, EventMark } from './commit.ts'
export type { CommitLog } from './commit-log.ts'
export type {
  BlobChange,
  CheckpointMark,
  CheckpointRow,
  EnginePosition,
  LogEntry,
  StorageEngine,
  StoredRow,
} from './engine.ts'
export type { Cause } from './events.ts'
export { withJobRows } from './job-rows.ts'
export { NodeUsages } from './node-usages.ts'
export { nodeEvaluations } from './node-evaluations.ts'
export { put, remove, Store } from './store.ts'
export type {
  Change,
  Commitment,
  CommitRequest,
  Stamp,
  StoreOptions,
  TableObserver,
} from './store.ts'
export { compareCreation } from './table.ts'
export type { OrderKey, Table } from './table.ts'
export { isOpenEvaluation, jobVersionKey, namespacedKey } from './tables.ts'
export type { Row, TableName, Tables } from './tables.ts'
export type { Watches, WatchTarget } from './watches.ts'
