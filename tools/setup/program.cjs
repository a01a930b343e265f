/**
 * Which file is the program: the bundle while it is of the present sources, else the sources.
 * Everything that starts it asks here at every start, so that nobody ever runs an old one. That is
 * one list to read and one stat call for each file in it.
 */
const fs = require('node:fs')
const path = require('node:path')

const SOURCE = 'packages/reeve/src/main/reeve.ts'
const BUNDLES = 'packages/reeve/dist'
/** Names the newest bundle, and `[path, size, mtimeMs, hash]` of each file that it is made from. */
const LIST = `${BUNDLES}/made-from.json`

/** The file to start. */
function findProgram(root) {
  return path.join(root, findBundle(root) ?? SOURCE)
}

/** The entry of the bundle, seen from the root; undefined when it is missing or old. */
function findBundle(root) {
  const { entry, files } = readList(root)
  if (entry === undefined || !files.every((file) => isAsBundled(root, file))) return undefined
  return `${BUNDLES}/${entry}`
}

function readList(root) {
  try {
    return JSON.parse(fs.readFileSync(path.join(root, LIST), 'utf8'))
  } catch {
    // Missing, or damaged, which is no better: the sources are always there.
    return {}
  }
}

/** What it holds decides; its time only spares reading it. */
function isAsBundled(root, [name, size, mtimeMs, hash]) {
  const file = `${root}/${name}`
  const found = fs.statSync(file, { throwIfNoEntry: false })
  if (found === undefined || found.size !== size) return false
  return found.mtimeMs === mtimeMs || hashOf(fs.readFileSync(file)) === hash
}

function hashOf(bytes) {
  const { createHash } = require('node:crypto')
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

module.exports = { findProgram, findBundle, hashOf, SOURCE, BUNDLES, LIST }
