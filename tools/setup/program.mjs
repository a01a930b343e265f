import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { BUNDLES, findBundle } from './program.cjs'
import { findRuntime } from './runtime.cjs'

const BUNDLER = 'node_modules/rolldown'
const SCRIPT = 'tools/build-program.ts'
const BUNDLE_MS_MAX = 60_000

/**
 * Bundles the program when its sources changed, in about a second. It runs from its sources too, so
 * nothing is said where the bundler is left out, as in an installation without development
 * packages, or where nothing can be written.
 */
export async function setUpProgram(root, { say = warn } = {}) {
  const runtime = findRuntime(root)
  if (runtime === undefined || findBundle(root) !== undefined) return
  if (!fs.existsSync(path.join(root, BUNDLER)) || !canWrite(root)) return
  const complaint = await run(runtime, [path.join(root, SCRIPT)], root)
  if (complaint !== undefined)
    say(`The program could not be bundled; it runs from its sources.\n${complaint}`)
}

function canWrite(root) {
  try {
    fs.accessSync(path.dirname(path.join(root, BUNDLES)), fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** What went wrong; undefined when nothing did. */
function run(command, args, cwd) {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, timeout: BUNDLE_MS_MAX }, (error, _stdout, stderr) => {
      resolve(error === null ? undefined : stderr.trimEnd() || error.message)
    })
  })
}

function warn(message) {
  process.stderr.write(`${message}\n`)
}
