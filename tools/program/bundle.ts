import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { BUNDLES, hashOf, LIST, SOURCE } from '../setup/program.cjs'
import { toLineMap, type MapText } from './line-map.ts'
import { openOwnSources, startOf, type BundledFile, type OwnSources } from './own-sources.ts'

/**
 * An agent that runs starts threads and loads parts of itself later, from the bundle that it began
 * with: each bundle has a folder of its own. The last ones are kept, and all of the last hour.
 */
const BUNDLES_KEPT = 8
const KEPT_MS = 60 * 60_000

/** Besides the sources: what else a bundle depends on. */
const ALSO_FROM = [
  'package-lock.json',
  'packages/contract/package.json',
  'packages/sdk/package.json',
  'packages/reeve/package.json',
  'tools/program/bundle.ts',
  'tools/program/line-map.ts',
  'tools/program/own-sources.ts',
]

/**
 * Packages that are bundled: of hundreds of small files, or loaded by every command. All others are
 * loaded as they are.
 */
const BUNDLED_PACKAGE = /^(?:@reeve\/\w+|commander|typebox)(?:\/|$)/

/**
 * Makes one bundle of the sources in the checkout and gives its entry, seen from the root. From
 * then on it is the program, until a source changes (decision 0044).
 */
export async function bundleProgram(checkout: string): Promise<string> {
  // As the bundler names modules.
  const root = fs.realpathSync(checkout)
  const sources = openOwnSources(root)
  for (const name of ALSO_FROM) sources.read(name)
  const folder = join(root, BUNDLES)
  // Not a folder for temporary files: those are closed to other users, who may run the program too.
  const draft = join(folder, `draft-${randomUUID()}`)
  try {
    await write(root, { sources, draft })
    const files = sources.files()
    const name = nameOf(files)
    place(draft, join(folder, name))
    const entry = `${name}/reeve.js`
    writeList(root, { entry, files })
    forgetOld(folder, name)
    return `${BUNDLES}/${entry}`
  } finally {
    fs.rmSync(draft, { recursive: true, force: true })
  }
}

interface Writing {
  readonly sources: OwnSources
  readonly draft: string
}

async function write(root: string, { sources, draft }: Writing): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: { reeve: startOf(join(root, SOURCE)) },
    platform: 'node',
    external: (id) => /^[@\w]/.test(id) && !BUNDLED_PACKAGE.test(id),
    plugins: [sources.plugin],
    logLevel: 'warn',
    // What is imported for its effect keeps it, whatever a package says about itself.
    treeshake: { moduleSideEffects: true },
  })
  await bundle.write({
    dir: draft,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    // The sources are where the map says.
    sourcemapExcludeSources: true,
  })
  await bundle.close()
  shortenMaps(draft)
}

function shortenMaps(folder: string): void {
  for (const name of fs.readdirSync(folder).filter((file) => file.endsWith('.map'))) {
    const file = join(folder, name)
    const map: MapText = JSON.parse(fs.readFileSync(file, 'utf8'))
    fs.writeFileSync(file, JSON.stringify(toLineMap(map)))
  }
}

function nameOf(files: readonly BundledFile[]): string {
  const text = files.map(([name, , , hash]) => `${name} ${hash}\n`).join('')
  return hashOf(Buffer.from(text)).slice(0, 12)
}

/** One of the same sources may run: it stays, and counts as new. */
function place(draft: string, target: string): void {
  try {
    fs.renameSync(draft, target)
  } catch (error) {
    if (!fs.existsSync(target)) throw error
    const now = new Date()
    fs.utimesSync(target, now, now)
  }
}

interface BundleList {
  readonly entry: string
  readonly files: readonly BundledFile[]
}

/** Renamed into place: whoever starts the program meanwhile reads the old list or the new one. */
function writeList(root: string, list: BundleList): void {
  const target = join(root, LIST)
  const draft = `${target}.${process.pid}`
  fs.writeFileSync(draft, JSON.stringify(list))
  fs.renameSync(draft, target)
}

function forgetOld(folder: string, current: string): void {
  const others = fs
    .readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== current)
    .map(({ name }) => ({ name, ageMs: ageMsOf(join(folder, name)) }))
    .toSorted((a, b) => a.ageMs - b.ageMs)
  for (const { name, ageMs } of others.slice(BUNDLES_KEPT - 1))
    if (ageMs > KEPT_MS) fs.rmSync(join(folder, name), { recursive: true, force: true })
}

/** Another process may have removed it meanwhile. */
function ageMsOf(file: string): number {
  return Date.now() - (fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)
}
