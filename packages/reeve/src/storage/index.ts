export { fsyncDirectory } from './durable-file.ts'
export { checkStorage, type SalvageResult, salvageStorage } from './embedded/repair-storage.ts'
export { assertUnused, openEmbeddedEngine } from './embedded/open-embedded-engine.ts'
export { openReadOnlyEngine } from './embedded/read-only-engine.ts'
export { RESERVE_BYTES } from './embedded/reserve.ts'
export {
  MemoryDisk,
  type MemoryEngine,
  MemoryLease,
  MemoryServerRegistry,
  openMemoryEngine,
} from './memory/memory-engine.ts'
export {
  openPostgresDatabase,
  type ClusterIdentity,
  type DatabaseWait,
  type PostgresDatabase,
} from './postgres/postgres-database.ts'
export type { PostgresEngine } from './postgres/postgres-engine.ts'
export { COMMIT_TIMEOUT_KIND } from './postgres/postgres-faults.ts'
export {
  copyEngine,
  diffDigests,
  digestEngine,
  type EngineDigest,
  isEmptyEngine,
} from './copy-engine.ts'
