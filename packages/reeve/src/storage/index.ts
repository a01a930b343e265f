export { openEmbeddedEngine } from './embedded/open-embedded-engine.ts'
export { MemoryDisk } from './memory/memory-disk.ts'
export { openMemoryEngine, type MemoryEngine } from './memory/memory-engine.ts'
