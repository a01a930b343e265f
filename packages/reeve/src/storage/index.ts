export { fsyncDirectory } from './embedded/durable-file.ts'
export { checkStorage, type StorageCheck } from './embedded/check-storage.ts'
export { assertUnused, openEmbeddedEngine } from './embedded/open-embedded-engine.ts'
export { openReadOnlyEngine } from './embedded/read-only-engine.ts'
export { RESERVE_BYTES } from './embedded/reserve.ts'
export { salvageStorage, type SalvageResult } from './embedded/salvage-storage.ts'
export { MemoryDisk } from './memory/memory-disk.ts'
export { openMemoryEngine, type MemoryEngine } from './memory/memory-engine.ts'
export { MemoryLease } from './memory/memory-lease.ts'
export { MemoryServerRegistry } from './memory/memory-roll.ts'
export {
  openPostgresDatabase,
  type ClusterIdentity,
  type DatabaseWait,
  type PostgresDatabase,
} from './postgres/postgres-database.ts'
export type { PostgresEngine } from './postgres/postgres-engine.ts'
export { COMMIT_TIMEOUT_KIND } from './postgres/postgres-faults.ts'
export { copyEngine, diffDigests, isEmptyEngine, digestEngine } from './move-content.ts'
export type { EngineDigest } from './move-content.ts'
