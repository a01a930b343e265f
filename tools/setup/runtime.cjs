/** Which Node runs the product: it needs one that runs TypeScript sources. */
const fs = require('node:fs')
const path = require('node:path')

const MAJOR_MIN = 24

function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= MAJOR_MIN
}

/**
 * V8 flags of the program; docs/contributing/measurements/memory.md gives the figures. All state is
 * in memory, so the heap may take most of the machine's memory, where Node's default stops at 4 GB.
 * The young generation is twice Node's default, so that fewer requests in progress are moved. The
 * collector uses one thread less than there are cores (0), where Node starts four on every machine.
 * A server that runs short of memory may request a full collection. The flags are only passed to
 * the pinned runtime, which knows them; `bin/reeve` passes the same.
 */
const PROGRAM_FLAGS = [
  '--max-old-space-size-percentage=75',
  '--max-semi-space-size=64',
  '--v8-pool-size=0',
  '--expose-gc',
]

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
  availableMemory,
  findRuntime,
  isNewEnough,
  programFlags,
  smallMemoryFlags,
  MISSING_RUNTIME,
}
