import { totalmem } from 'node:os'

const MEGABYTE = 1024 * 1024
/** With less memory, the flags in `bin/runtime-flags` leave too little memory outside the heap. */
const SMALL_MEMORY_MEGABYTES = 4096
const HEAP_SHARE = 0.75
const OLD_SPACE_MEGABYTES_MIN = 64
/** The young generation has three times this size: two semi-spaces and the space for promotion. */
const SMALL_SEMI_SPACE_MEGABYTES = 16

/**
 * Node flags for a server with little memory, as in a container: the heap with its young generation
 * gets three quarters, and buffers, threads and code the rest. Undefined if the usual flags fit.
 */
export function memoryFlags(memoryBytes: number): readonly string[] | undefined {
  const megabytes = Math.floor(memoryBytes / MEGABYTE)
  if (!(megabytes > 0) || megabytes >= SMALL_MEMORY_MEGABYTES) return undefined
  const heap = Math.floor(megabytes * HEAP_SHARE)
  const oldSpace = Math.max(OLD_SPACE_MEGABYTES_MIN, heap - 3 * SMALL_SEMI_SPACE_MEGABYTES)
  return [`--max-old-space-size=${oldSpace}`, `--max-semi-space-size=${SMALL_SEMI_SPACE_MEGABYTES}`]
}

/**
 * Re-executes a server with flags for little memory, because the heap size is fixed when Node
 * starts. Returns if there is enough memory.
 */
export function restartForSmallMemory(): void {
  if (typeof process.execve !== 'function') return
  const flags = memoryFlags(availableMemory())
  if (flags === undefined || flags.every((flag) => process.execArgv.includes(flag))) return
  const kept = process.execArgv.filter((flag) => !/^--max-(old|semi)-space-size/.test(flag))
  const args = [process.execPath, ...kept, ...flags, ...process.argv.slice(1)]
  process.execve(process.execPath, args, process.env)
}

/** The memory limit of the container, or else the memory of the machine. */
function availableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
