/** Builds the web UI into `packages/web/dist`, from where the server serves it. */
import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { isUpToDate } from './paths.ts'

const WEB = 'packages/web'
const BUILDER = 'node_modules/vite/bin/vite.js'
const BUILD_MS_MAX = 180_000
const PAGE = `${WEB}/dist/index.html`

const WEB_SOURCES = [
  'packages/web/src',
  'packages/web/public',
  'packages/web/index.html',
  'packages/web/vite.config.ts',
  'packages/web/package.json',
  'packages/contract/src',
  'packages/sdk/src',
  'tools/build/web.ts',
]

export function isWebUpToDate(root: string): boolean {
  return isUpToDate(root, PAGE, WEB_SOURCES)
}

/** True on success; otherwise `say` receives the reason. */
export async function buildWeb(
  root: string,
  { report = warn }: { readonly report?: (sentence: string) => void } = {},
): Promise<boolean> {
  if (!fs.existsSync(path.join(root, BUILDER))) {
    report(`The web UI is not built: ${BUILDER} is not installed. ${CONSEQUENCE}`)
    return false
  }
  // Built in a temporary directory and then renamed, so that a running server serves either the
  // old or the new files.
  const draft = path.join(root, 'node_modules/.cache/reeve', `web-${process.pid}`)
  const startedAt = new Date()
  const args = [path.join(root, BUILDER), 'build', path.join(root, WEB)]
  const buildError = await run(
    process.execPath,
    [...args, '--outDir', draft, '--emptyOutDir'],
    root,
  )
  if (buildError === undefined) {
    replace(draft, path.join(root, WEB, 'dist'))
    // The start time, so that sources changed during the build are newer.
    fs.utimesSync(path.join(root, PAGE), startedAt, startedAt)
  } else report(`The web UI could not be built. ${CONSEQUENCE}\n${buildError}`)
  fs.rmSync(draft, { recursive: true, force: true })
  return buildError === undefined
}

const CONSEQUENCE = 'Everything else runs; "npm run build -- --web" builds it later.'

function replace(draft: string, target: string): void {
  const old = `${draft}-old`
  fs.rmSync(old, { recursive: true, force: true })
  if (fs.existsSync(target)) fs.renameSync(target, old)
  fs.renameSync(draft, target)
  fs.rmSync(old, { recursive: true, force: true })
}

/** Returns the error message; undefined on success. */
function run(command: string, args: readonly string[], cwd: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: BUILD_MS_MAX, maxBuffer: 1 << 24 }
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(undefined)
      else resolve(`${stdout}${stderr}`.trimEnd() || error.message)
    })
  })
}

function warn(message: string): void {
  process.stderr.write(`${message}\n`)
}
