import { totalmem } from 'node:os'

const MEGABYTE = 1024 * 1024
/** With less memory, the flags of `bin/runtime-flags` leave too little beside the heap. */
const AMPLE_MEGABYTES = 4096
const HEAP_SHARE = 0.75
const OLD_SPACE_MEGABYTES_MIN = 64
/** The young generation is three times as large: two halves, and what moves between them. */
const SMALL_SEMI_SPACE_MEGABYTES = 16

/**
 * The flags of a server that has little memory, as in a container: the whole heap, its young
 * generation included, takes three quarters, and the rest is left for buffers, threads and code.
 * Undefined where the flags of every other machine fit.
 */
export function smallMemoryFlags(memoryBytes: number): readonly string[] | undefined {
  const megabytes = Math.floor(memoryBytes / MEGABYTE)
  if (!(megabytes > 0) || megabytes >= AMPLE_MEGABYTES) return undefined
  const heap = Math.floor(megabytes * HEAP_SHARE)
  const oldSpace = Math.max(OLD_SPACE_MEGABYTES_MIN, heap - 3 * SMALL_SEMI_SPACE_MEGABYTES)
  return [`--max-old-space-size=${oldSpace}`, `--max-semi-space-size=${SMALL_SEMI_SPACE_MEGABYTES}`]
}

/**
 * Starts a server with little memory again, in the same process, with flags for that: the heap's
 * size is decided when Node starts. Returns where there is enough memory.
 */
export function restartForSmallMemory(): void {
  if (typeof process.execve !== 'function') return
  const flags = smallMemoryFlags(availableMemory())
  if (flags === undefined || flags.every((flag) => process.execArgv.includes(flag))) return
  const kept = process.execArgv.filter((flag) => !/^--max-(old|semi)-space-size/.test(flag))
  const args = [process.execPath, ...kept, ...flags, ...process.argv.slice(1)]
  process.execve(process.execPath, args, process.env)
}

/** The memory limit of the container where there is one, else the machine's memory. */
function availableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
