/**
 * Installs what package-lock.json lists. Plain JavaScript for any Node from 20 on, because nothing
 * is installed yet.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** A failure with a message for users; every other error is a bug. */
export class InstallFailure extends Error {}

/** Outside node_modules, which an installation removes. */
const LOCK = '.reeve/install.lock'
const LOCK_POLL_MS = 200
const PROGRESS_MS = 1_000
const ARGUMENTS = ['--no-audit', '--no-fund', '--loglevel=http', '--no-progress']

/**
 * Installs the packages that running needs, with `dev` those of development too. Does nothing where
 * they are already installed in the versions of the lock file.
 */
export async function install(root, { dev }) {
  if (isInstalled(root, { dev })) return
  const release = await takeLock(root)
  try {
    // Another process may have installed them while this one waited.
    if (!isInstalled(root, { dev })) await runInstallation(root, { dev })
  } finally {
    release()
  }
}

async function runInstallation(root, { dev }) {
  const startedMs = performance.now()
  const what = dev ? 'packages, those of development included' : 'packages'
  process.stderr.write(`Installing ${what}…\n`)
  // Adding to an installation must not take it away from a server that runs from it.
  const isAdding = isInstalled(root, { dev: false })
  const command = isAdding ? ['install', '--no-save'] : ['ci']
  const kind = dev ? '--include=dev' : '--omit=dev'
  const { code, output } = await runNpm(root, [...command, kind, ...ARGUMENTS])
  if (code !== 0)
    throw new InstallFailure(
      `${output.trimEnd()}\n\nThe packages could not be installed (npm ended with ${code}). ` +
        'Check the messages above and the connection to the npm registry, then try again.',
    )
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  process.stderr.write(`Installed in ${seconds} s.\n`)
}

/**
 * npm leaves a list of what it installed after each success. It is compared with the lock, so that
 * an installation made by hand counts, and no state of its own is needed.
 */
function isInstalled(root, { dev }) {
  const wanted = readPackages(path.join(root, 'package-lock.json'))
  const present = readPackages(path.join(root, 'node_modules/.package-lock.json'))
  if (wanted === undefined || present === undefined) return false
  return Object.entries(wanted).every(([place, entry]) => {
    if (!place.includes('node_modules/')) return declaresSame(entry, path.join(root, place))
    const mayMiss = entry.optional || entry.devOptional || (entry.dev && !dev)
    const found = present[place]
    if (found === undefined) return mayMiss
    return isSame(entry, found) && fs.existsSync(path.join(root, place))
  })
}

function readPackages(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')).packages
  } catch {
    // Missing or unreadable: npm says what is wrong with it.
    return undefined
  }
}

function isSame(a, b) {
  return ['version', 'resolved', 'integrity', 'link'].every((field) => a[field] === b[field])
}

/** True when the lock was made from this package.json; npm refuses another. */
function declaresSame(entry, folder) {
  const file = path.join(folder, 'package.json')
  if (!fs.existsSync(file)) return false
  const declared = JSON.parse(fs.readFileSync(file, 'utf8'))
  return ['dependencies', 'devDependencies', 'optionalDependencies'].every(
    (field) => canonical(declared[field]) === canonical(entry[field]),
  )
}

function canonical(record) {
  return JSON.stringify(Object.entries(record ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * npm must not run on the Node inside node_modules: the installation replaces it. `npm run` puts
 * that one first in PATH, so those entries are removed.
 */
function runNpm(root, args) {
  const inside = path.join(root, 'node_modules') + path.sep
  const { npm_node_execpath: node, npm_execpath: cli } = process.env
  const isOutside = node && cli && !node.startsWith(inside) && fs.existsSync(cli)
  const [command, ...before] = isOutside ? [node, cli] : ['npm']
  const PATH = (process.env.PATH ?? '')
    .split(path.delimiter)
    .filter((entry) => !`${entry}${path.sep}`.startsWith(inside))
    .join(path.delimiter)
  return new Promise((resolve) => {
    const child = spawn(command, [...before, ...args], {
      cwd: root,
      env: { ...process.env, PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
      // On Windows npm is a command file, which only a shell starts; the arguments are constants.
      shell: process.platform === 'win32' && command === 'npm',
    })
    const { lines, stop } = showProgress(child)
    child.once('error', (error) => {
      stop()
      const isMissing = error.code === 'ENOENT'
      const output = isMissing ? 'npm was not found: it comes with Node.' : error.message
      resolve({ code: error.code, output })
    })
    child.once('close', (code, signal) => {
      stop()
      resolve({ code: code ?? signal, output: lines.join('\n') })
    })
  })
}

/** Counts what npm fetches, on one line that a terminal rewrites; its other lines are kept. */
function showProgress(child) {
  const lines = []
  let fetched = 0
  let rest = ''
  const read = (part) => {
    const parts = (rest + part).split('\n')
    rest = parts.pop() ?? ''
    for (const line of parts)
      if (/^npm http (fetch|cache) /.test(line)) fetched += 1
      else lines.push(line)
  }
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', read)
  const startedMs = performance.now()
  const show = () => {
    const seconds = Math.round((performance.now() - startedMs) / 1_000)
    process.stderr.write(`\r  ${fetched} packages fetched, ${seconds} s `)
  }
  const timer = process.stderr.isTTY ? setInterval(show, PROGRESS_MS) : undefined
  const stop = () => {
    if (rest !== '') lines.push(rest)
    rest = ''
    if (timer === undefined) return
    clearInterval(timer)
    process.stderr.write('\r\u001B[K')
  }
  return { lines, stop }
}

/** Creating a directory is atomic; one whose process has ended is taken over. */
async function takeLock(root) {
  const folder = path.join(root, LOCK)
  for (let isTold = false; ; await wait(LOCK_POLL_MS)) {
    if (tryLock(folder)) break
    if (!isHeld(folder)) {
      fs.rmSync(folder, { recursive: true, force: true })
      continue
    }
    if (!isTold) process.stderr.write('Waiting for another installation in this checkout…\n')
    isTold = true
  }
  return () => fs.rmSync(folder, { recursive: true, force: true })
}

function tryLock(folder) {
  try {
    fs.mkdirSync(path.dirname(folder), { recursive: true })
    fs.mkdirSync(folder)
    fs.writeFileSync(path.join(folder, 'pid'), String(process.pid))
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw new InstallFailure(`This checkout cannot be written to: ${error.message}`)
  }
}

function isHeld(folder) {
  try {
    const pid = fs.readFileSync(path.join(folder, 'pid'), 'utf8')
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    // EPERM: the process lives and belongs to another user. No file yet: it is being written,
    // unless its writer died a while ago.
    if (error.code === 'EPERM') return true
    const made = fs.statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0
    return error.code === 'ENOENT' && Date.now() - made < 10 * LOCK_POLL_MS
  }
}
