export { syncFolder } from './embedded/durable-file.ts'
export { checkStorage, type CheckedStorage } from './embedded/check-storage.ts'
export { assertUnused, openEmbeddedEngine } from './embedded/open-embedded-engine.ts'
export { openReadOnlyEngine } from './embedded/read-only-engine.ts'
export { RESERVE_BYTES } from './embedded/reserve.ts'
export { salvageStorage, type Salvaged } from './embedded/salvage-storage.ts'
export { MemoryDisk } from './memory/memory-disk.ts'
export { openMemoryEngine, type MemoryEngine } from './memory/memory-engine.ts'
export { MemoryLease } from './memory/memory-lease.ts'
export { MemoryRoll } from './memory/memory-roll.ts'
export {
  openPostgresDatabase,
  type DatabaseClaim,
  type DatabaseWait,
  type PostgresDatabase,
} from './postgres/postgres-database.ts'
export type { PostgresEngine } from './postgres/postgres-engine.ts'
export { UNANSWERED } from './postgres/postgres-faults.ts'
export { copyContent, differencesOf, isEmptyEngine, summarize } from './move-content.ts'
export type { ContentSummary } from './move-content.ts'
