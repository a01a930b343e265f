/** Which Node runs the product: it needs one that runs TypeScript sources. */
const fs = require('node:fs')
const path = require('node:path')

const MAJOR_MIN = 24

function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= MAJOR_MIN
}

/**
 * All state is in memory: the heap may take most of the machine's, where Node would stop at 4 GB.
 * The young generation has one size on every machine, twice Node's: fewer of the requests under way
 * are moved (decisions 0001 and 0055). The collector has as many threads as there are cores beside
 * the main thread's (0), where Node would take four on every machine. A server whose memory runs
 * short may ask for a full collection. Pages of threads that have ended are returned after 2 s,
 * where V8 would keep them for 8 (decision 0091). Said to the pinned runtime, which knows the
 * flags; `bin/reeve` says the same.
 */
const PROGRAM_FLAGS = [
  '--max-old-space-size-percentage=75',
  '--max-semi-space-size=64',
  '--v8-pool-size=0',
  '--expose-gc',
  '--memory-pool-timeout=2',
]

/**
 * Settings of the C library's allocator, in bytes: buffers from 256 KiB on are mapped one by one
 * and unmapped when they are released, and 4 MiB of free memory stay at the end of each arena. The
 * defaults grow with the largest buffer so far: after a plan of 50 MB up to 64 MiB of each arena
 * stay with the process (decision 0091). The library reads them at the start of a process, so they
 * have to come from its environment; other allocators ignore them. `bin/reeve` sets the same.
 */
const ALLOCATOR_SETTINGS = {
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '4194304',
}

/** Tasks and other children do not inherit what is meant for this program. */
function removeAllocatorSettings(environment) {
  for (const [name, value] of Object.entries(ALLOCATOR_SETTINGS))
    if (environment[name] === value) delete environment[name]
}

function programFlags(root, runtime) {
  return runtime === pinnedRuntime(root) ? PROGRAM_FLAGS : []
}

const MEGABYTE = 1024 * 1024
/** With less memory than this, the flags above leave too little beside the heap. */
const AMPLE_MEGABYTES = 4096
const HEAP_SHARE = 0.75
/** The young generation is three times as large: two halves, and what moves between them. */
const SMALL_SEMI_SPACE = 16

/**
 * The flags of a server that has little memory, as in a container: the whole heap, its young
 * generation included, takes three quarters, and the rest is left for buffers, threads and code.
 * Undefined where the flags of every other machine are right.
 */
function smallMemoryFlags(memoryBytes) {
  const megabytes = Math.floor(memoryBytes / MEGABYTE)
  if (!(megabytes > 0) || megabytes >= AMPLE_MEGABYTES) return undefined
  const oldSpace = Math.max(64, Math.floor(megabytes * HEAP_SHARE) - 3 * SMALL_SEMI_SPACE)
  return [`--max-old-space-size=${oldSpace}`, `--max-semi-space-size=${SMALL_SEMI_SPACE}`]
}

/** What this process may use: of its container where there is one, else of the machine. */
function availableMemory() {
  const machine = require('node:os').totalmem()
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, machine) : machine
}

function pinnedRuntime(root) {
  const file = process.platform === 'win32' ? 'node.exe' : 'node'
  return path.join(root, 'node_modules/node/bin', file)
}

/** The pinned runtime, else this one when it is new enough, else undefined. */
function findRuntime(root) {
  const pinned = pinnedRuntime(root)
  if (fs.existsSync(pinned)) return pinned
  return isNewEnough() ? process.execPath : undefined
}

const MISSING_RUNTIME =
  `Reeve needs Node ${MAJOR_MIN} or newer, and the one it brings is missing from node_modules: ` +
  `run "npm rebuild node", or install Node ${MAJOR_MIN}.`

module.exports = {
  ALLOCATOR_SETTINGS,
  availableMemory,
  findRuntime,
  isNewEnough,
  programFlags,
  removeAllocatorSettings,
  smallMemoryFlags,
  MISSING_RUNTIME,
}
