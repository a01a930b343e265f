/** What `bin/reeve` does: set up when needed, then become the program. */
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const { findProgram } = require('./program.cjs')
const {
  ALLOCATOR_SETTINGS,
  availableMemory,
  findRuntime,
  isNewEnough,
  programFlags,
  removeAllocatorSettings,
  smallMemoryFlags,
  MISSING_RUNTIME,
} = require('./runtime.cjs')
const { isSetUp } = require('./steps.cjs')

const root = path.resolve(__dirname, '../..')

async function launch() {
  if (!isSetUp(root)) {
    const { setUp } = await import('./run.mjs')
    if (!(await setUp(root))) process.exit(1)
  }
  if (isNewEnough()) {
    fitIntoMemory()
    return load()
  }
  const runtime = findRuntime(root)
  // The pinned one being too old itself would start it again and again.
  if (runtime === undefined || runtime === process.execPath) {
    process.stderr.write(`${MISSING_RUNTIME}\n`)
    process.exit(1)
  }
  const { runChild, endLike } = require('./child.cjs')
  const flags = programFlags(root, runtime)
  const program = path.join(root, 'bin/reeve')
  const env = { ...ALLOCATOR_SETTINGS, ...process.env }
  endLike(await runChild(runtime, [...flags, program, ...process.argv.slice(2)], { env }))
}

/**
 * Starts a server with little memory once more, in the same process, with flags for that: only
 * those of its start decide how large its heap becomes.
 */
function fitIntoMemory() {
  if (process.argv[2] !== 'agent' || typeof process.execve !== 'function') return
  const flags = smallMemoryFlags(availableMemory())
  if (flags === undefined || flags.every((flag) => process.execArgv.includes(flag))) return
  const kept = process.execArgv.filter((flag) => !/^--max-(old|semi)-space-size/.test(flag))
  const program = path.join(root, 'bin/reeve')
  const given = process.argv.slice(2)
  const args = [process.execPath, ...kept, ...flags, program, ...given]
  process.execve(process.execPath, args, process.env)
}

/** Compiled code is kept between starts: compiling it anew takes longer than a command. */
async function load() {
  removeAllocatorSettings(process.env)
  require('node:module').enableCompileCache(path.join(root, 'node_modules/.cache/reeve'))
  const entry = findProgram(root)
  process.argv[1] = entry
  await import(pathToFileURL(entry).href)
}

module.exports = { launch, load }
