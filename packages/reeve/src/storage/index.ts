export { openEmbeddedEngine, type EmbeddedOptions } from './embedded/open-embedded-engine.ts'
export { MemoryDisk } from './memory/memory-disk.ts'
export { MemoryEngine, openMemoryEngine, type MemoryOptions } from './memory/memory-engine.ts'
export type { HeldAppend, MemoryFaults } from './memory/memory-faults.ts'
