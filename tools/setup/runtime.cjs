/** Which Node runs the product: it needs one that runs TypeScript sources. */
const fs = require('node:fs')
const path = require('node:path')

const MAJOR_MIN = 24

function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= MAJOR_MIN
}

/** The pinned runtime, else this one when it is new enough, else undefined. */
function findRuntime(root) {
  const file = process.platform === 'win32' ? 'node.exe' : 'node'
  const pinned = path.join(root, 'node_modules/node/bin', file)
  if (fs.existsSync(pinned)) return pinned
  return isNewEnough() ? process.execPath : undefined
}

const MISSING_RUNTIME =
  `Reeve needs Node ${MAJOR_MIN} or newer, and the one it brings is missing from node_modules: ` +
  `run "npm rebuild node", or install Node ${MAJOR_MIN}.`

module.exports = { findRuntime, isNewEnough, MISSING_RUNTIME }
