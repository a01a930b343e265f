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
 * the main thread's (0), where Node would take four on every machine. Said to the pinned runtime,
 * which knows the flags; `bin/reeve` says the same.
 */
const PROGRAM_FLAGS = [
  '--max-old-space-size-percentage=75',
  '--max-semi-space-size=64',
  '--v8-pool-size=0',
]

function programFlags(root, runtime) {
  return runtime === pinnedRuntime(root) ? PROGRAM_FLAGS : []
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

module.exports = { findRuntime, isNewEnough, programFlags, MISSING_RUNTIME }
