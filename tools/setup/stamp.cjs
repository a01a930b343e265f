/**
 * Which set-up steps are done, remembered in one file inside node_modules so that removing
 * node_modules forgets it too. CommonJS because `bin/reeve` asks on every start and the ES module
 * loader alone would cost more than the answer.
 */
const fs = require('node:fs')
const path = require('node:path')

const STAMP = 'node_modules/.reeve-setup'
/** Raised when the meaning of the stamp changes; an older stamp then counts as none. */
const FORMAT = 1

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {readonly string[]} inputs files, folders (taken whole) or `folder/*\/file`
 * @property {readonly string[]} [outputs] files the step makes; it is repeated when one is missing
 * @property {(root: string) => Promise<boolean>} [isMade] true when somebody did the step by hand
 * @property {(root: string) => Promise<void>} run rejects when the step failed
 */

/** True when no input changed size or time and no output is missing. Makes stat calls only. */
function isDone(root, step, stamp) {
  const known = stamp[step.name]
  if (known === undefined || !hasOutputs(root, step)) return false
  return JSON.stringify(statInputs(root, step)) === JSON.stringify(known.files)
}

/** True when the inputs hold what they held at the step's last success, whatever their times. */
function isSameContent(root, step, stamp) {
  const known = stamp[step.name]
  return known !== undefined && hasOutputs(root, step) && hashInputs(root, step) === known.hash
}

function hasOutputs(root, step) {
  return (step.outputs ?? []).every((output) => fs.existsSync(path.join(root, output)))
}

function readStamp(root) {
  let text
  try {
    text = fs.readFileSync(path.join(root, STAMP), 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return {}
    throw error
  }
  try {
    const stamp = JSON.parse(text)
    return stamp.format === FORMAT ? stamp.steps : {}
  } catch {
    // A damaged stamp is a missing one: the steps find out for themselves what is left to do.
    return {}
  }
}

/** Remembers the step's present inputs. Renamed into place: a reader never sees half of it. */
function recordStep(root, step) {
  const done = { hash: hashInputs(root, step), files: statInputs(root, step) }
  const steps = { ...readStamp(root), [step.name]: done }
  const target = path.join(root, STAMP)
  const draft = `${target}.${process.pid}`
  fs.writeFileSync(draft, `${JSON.stringify({ format: FORMAT, steps })}\n`)
  fs.renameSync(draft, target)
}

function statInputs(root, step) {
  return listInputs(root, step).map((file) => {
    // Joining by hand: `path.join` takes several times as long as the call for hundreds of files.
    const { size, mtimeMs } = fs.statSync(`${root}/${file}`)
    return [file, size, mtimeMs]
  })
}

function hashInputs(root, step) {
  const hash = require('node:crypto').createHash('sha256')
  for (const file of listInputs(root, step)) {
    const bytes = fs.readFileSync(path.join(root, file))
    hash.update(`${file}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}

function listInputs(root, step) {
  return step.inputs.flatMap((input) => {
    const [before, after] = input.split('/*/')
    if (after === undefined) return listFiles(root, input)
    const folders = readFolder(root, before)
    return folders.flatMap(({ name }) => listFiles(root, `${before}/${name}/${after}`))
  })
}

/** The file itself, or every file below the folder; nothing where there is neither. */
function listFiles(root, input) {
  const found = fs.statSync(path.join(root, input), { throwIfNoEntry: false })
  if (found === undefined) return []
  return found.isDirectory() ? listFolder(root, input) : [input]
}

function listFolder(root, folder) {
  return readFolder(root, folder).flatMap((entry) => {
    const name = `${folder}/${entry.name}`
    if (entry.isDirectory()) return listFolder(root, name)
    return entry.isFile() ? [name] : listFiles(root, name)
  })
}

function readFolder(root, folder) {
  try {
    return fs
      .readdirSync(path.join(root, folder), { withFileTypes: true })
      .filter(({ name }) => name !== 'node_modules')
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}

module.exports = { isDone, isSameContent, readStamp, recordStep, hashInputs }
