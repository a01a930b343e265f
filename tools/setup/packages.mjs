import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import child from './child.cjs'
import { SetUpFailure } from './failure.mjs'

/** Installs exactly what package-lock.json lists. */
export async function installPackages(root) {
  process.stderr.write('Installing packages (first run, about a minute)…\n')
  const { code, output } = await runNpm(root, ['ci', '--no-audit', '--no-fund'])
  if (code === 0) return
  throw new SetUpFailure(
    `${output.trimEnd()}\n\nThe packages could not be installed (npm ended with ${code}). ` +
      'Check the messages above and the connection to the npm registry, then try again.',
  )
}

/**
 * npm leaves a list of what it installed after each success. Equal lists mean that nothing is left
 * to do, which saves the minute after `npm ci` by hand and works without a network.
 */
export function isInstalled(root) {
  // The switches by which npm itself leaves development packages out, as in a container image.
  const { NODE_ENV, npm_config_omit: omit = '' } = process.env
  const omitsDev = NODE_ENV === 'production' || omit.split(/\s+/).includes('dev')
  const wanted = readLock(path.join(root, 'package-lock.json'))
  const present = readLock(path.join(root, 'node_modules/.package-lock.json'))
  if (wanted === undefined || present === undefined) return false
  for (const [place, entry] of Object.entries(wanted)) {
    const mayMiss = entry.optional || entry.devOptional || (omitsDev && entry.dev)
    if (!place.includes('node_modules/')) {
      if (!declaresSame(entry, path.join(root, place, 'package.json'))) return false
    } else if (present[place] === undefined) {
      if (!mayMiss) return false
    } else if (!isSame(entry, present[place]) || !existsSync(path.join(root, place))) return false
  }
  return Object.keys(present).every((place) => wanted[place] !== undefined)
}

function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    // Missing or unreadable: npm will say what is wrong with it.
    return undefined
  }
}

function isSame(a, b) {
  return ['version', 'resolved', 'integrity', 'link'].every((field) => a[field] === b[field])
}

/** The lock still speaks of the package.json that is there; otherwise npm must refuse it. */
function declaresSame(entry, file) {
  if (!existsSync(file)) return false
  const declared = JSON.parse(readFileSync(file, 'utf8'))
  return ['dependencies', 'devDependencies', 'optionalDependencies'].every(
    (field) => canonical(declared[field]) === canonical(entry[field]),
  )
}

function canonical(record) {
  return JSON.stringify(Object.entries(record ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * npm must not run on the Node inside node_modules: the installation removes it half-way. `npm run`
 * puts that one first in PATH, so those entries are taken out again.
 */
async function runNpm(root, args) {
  const inside = path.join(root, 'node_modules') + path.sep
  const { npm_node_execpath: node, npm_execpath: cli } = process.env
  const isOutside = node && cli && !node.startsWith(inside) && existsSync(cli)
  const [command, ...before] = isOutside ? [node, cli] : ['npm']
  const parts = []
  const options = {
    cwd: root,
    env: { ...process.env, PATH: outsidePath(inside) },
    stdio: ['ignore', 'pipe', 'pipe'],
    // npm is a command file on Windows, which only a shell can start; the arguments are constants.
    shell: process.platform === 'win32' && command === 'npm',
    onStart: ({ stdout, stderr }) => {
      for (const stream of [stdout, stderr]) stream.on('data', (part) => parts.push(part))
    },
  }
  try {
    const { code, signal } = await child.runChild(command, [...before, ...args], options)
    return { code: code ?? signal, output: Buffer.concat(parts).toString() }
  } catch (error) {
    return { code: error.code, output: hintFor(error) }
  }
}

function outsidePath(inside) {
  const entries = (process.env.PATH ?? '').split(path.delimiter)
  return entries.filter((entry) => !`${entry}${path.sep}`.startsWith(inside)).join(path.delimiter)
}

function hintFor(error) {
  return error.code === 'ENOENT' ? 'npm was not found: it comes with Node.' : error.message
}
