/**
 * Builds the web UI into `packages/web/dist`, from where the server serves it. The step of the
 * set-up repeats it when a source changed; a server without it runs, and its page says so.
 */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import fs from 'node:fs'
import path from 'node:path'

const load = createRequire(import.meta.url)
const { findRuntime } = load('./runtime.cjs')
const { hashInputs } = load('./stamp.cjs')
const { WEB_SOURCES } = load('./steps.cjs')

const WEB = 'packages/web'
const BUILDER = 'node_modules/vite/bin/vite.js'
const BUILD_MS_MAX = 180_000
/** Beside the result: the hash of what it was made from. */
const MARK = 'built-from'

/** True when it was built; else `say` was told why not. */
export async function buildWeb(root, { say = warn } = {}) {
  const runtime = findRuntime(root)
  if (runtime === undefined || !fs.existsSync(path.join(root, BUILDER))) {
    say(`The web UI is not built: ${BUILDER} is not installed. ${CONSEQUENCE}`)
    return false
  }
  // Built aside and then renamed: a server that reads meanwhile sees the old files or the new ones.
  const draft = path.join(root, 'node_modules/.cache/reeve', `web-${process.pid}`)
  const args = [path.join(root, BUILDER), 'build', path.join(root, WEB)]
  const complaint = await run(runtime, [...args, '--outDir', draft, '--emptyOutDir'], root)
  if (complaint === undefined) {
    fs.writeFileSync(path.join(draft, MARK), hashSources(root))
    replace(draft, path.join(root, WEB, 'dist'))
  } else say(`The web UI could not be built. ${CONSEQUENCE}\n${complaint}`)
  fs.rmSync(draft, { recursive: true, force: true })
  return complaint === undefined
}

/** True when the result was made from the present sources, by whoever. */
export function isWebBuilt(root) {
  const mark = path.join(root, WEB, 'dist', MARK)
  return fs.existsSync(mark) && fs.readFileSync(mark, 'utf8') === hashSources(root)
}

function hashSources(root) {
  return hashInputs(root, { inputs: WEB_SOURCES })
}

/** The set-up's step. */
export async function setUpWeb(root) {
  if (!fs.existsSync(path.join(root, WEB, 'index.html'))) return
  process.stderr.write('Building the web UI (a few seconds)…\n')
  await buildWeb(root)
}

const CONSEQUENCE = 'Everything else runs; "node tools/build-web.mjs" builds it later.'

function replace(draft, target) {
  const old = `${draft}-old`
  fs.rmSync(old, { recursive: true, force: true })
  if (fs.existsSync(target)) fs.renameSync(target, old)
  fs.renameSync(draft, target)
  fs.rmSync(old, { recursive: true, force: true })
}

/** What went wrong; undefined when nothing did. */
function run(command, args, cwd) {
  return new Promise((resolve) => {
    const options = { cwd, timeout: BUILD_MS_MAX, maxBuffer: 1 << 24 }
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(undefined)
      else resolve(`${stdout}${stderr}`.trimEnd() || error.message)
    })
  })
}

function warn(message) {
  process.stderr.write(`${message}\n`)
}
