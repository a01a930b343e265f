import { createHash, randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { toLineMap, type SourceMap } from './line-map.ts'
import { createSourcePlugin, entryModuleId } from './source-plugin.ts'
import { DIST, PROGRAM, SOURCE } from './paths.ts'

/**
 * An agent that runs starts threads and loads parts of itself later, from the bundle that it began
 * with: each bundle has a folder of its own. The last ones are kept, and all of the last hour.
 */
const BUNDLES_KEPT = 8
const KEPT_MS = 60 * 60_000

/**
 * Packages that are bundled: of hundreds of small files, or loaded by every command. All others are
 * loaded as they are.
 */
const BUNDLED_PACKAGE = /^(?:@reeve\/[\w-]+|commander|typebox)(?:\/|$)/

/**
 * Builds the program from the sources in the checkout; `reeve.js` in its directory starts the
 * newest build from then on (docs/contributing/decisions/0098-one-build.md).
 */
export async function bundleProgram(checkout: string): Promise<void> {
  // As the bundler names modules.
  const root = fs.realpathSync(checkout)
  const folder = join(root, DIST)
  const startedAt = new Date()
  // Not a temporary directory: other users cannot read it, and they may run the program too.
  const draft = join(folder, `draft-${randomUUID()}`)
  try {
    await write(root, draft)
    const name = contentHash(draft)
    publish(draft, join(folder, name))
    writeEntry(join(root, PROGRAM), name, startedAt)
    removeOldBuilds(folder, name)
  } finally {
    fs.rmSync(draft, { recursive: true, force: true })
  }
}

async function write(root: string, draft: string): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: { reeve: entryModuleId(SOURCE) },
    platform: 'node',
    external: (id) => /^[@\w]/.test(id) && !BUNDLED_PACKAGE.test(id),
    plugins: [createSourcePlugin(root)],
    logLevel: 'warn',
    treeshake: { moduleSideEffects: hasSideEffects },
  })
  await bundle.write({
    dir: draft,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    // The map refers to the sources by path.
    sourcemapExcludeSources: true,
    comments: false,
  })
  await bundle.close()
  shortenMaps(draft)
  escapeModules(draft)
}

/**
 * Modules that only declare: importing one of them does nothing else, so a program that needs one
 * name of such a folder does not load all of it. A server loads no policy engine: its threads do.
 */
const DECLARING = [
  /\/packages\/(?:contract|go-template|hcl|kit|native-policy|rego)\/src\//,
  /\/packages\/reeve\/src\/(?:lang|model|policy)\//,
  /\/node_modules\/typebox\//,
]

/** Side effects of all other imports are kept, even if a package declares that it has none. */
export function hasSideEffects(id: string): boolean {
  return !DECLARING.some((folder) => folder.test(id))
}

export function shortenMaps(folder: string): void {
  for (const name of fs.readdirSync(folder).filter((file) => file.endsWith('.map'))) {
    const file = join(folder, name)
    const map: SourceMap = JSON.parse(fs.readFileSync(file, 'utf8'))
    fs.writeFileSync(file, JSON.stringify(toLineMap(map)))
  }
}

/**
 * V8 keeps the source of every loaded module, with two bytes for each character if one of them is
 * beyond Latin-1. Modules of one byte for each take 8 MB less memory in an agent.
 */
export function escapeModules(folder: string): void {
  for (const name of fs.readdirSync(folder).filter((file) => file.endsWith('.js'))) {
    const file = join(folder, name)
    fs.writeFileSync(file, asciiCode(fs.readFileSync(file, 'utf8')))
  }
}

const RAW_TEMPLATE = /String\.raw`[^`]*[\u0080-\uffff]/
const BEYOND_ASCII = /(\\*)([\u0080-\uffff])/g

/** The same program in ASCII: an escape means the same in texts, templates, patterns and names. */
export function asciiCode(code: string): string {
  if (RAW_TEMPLATE.test(code))
    throw new Error('A template of String.raw has a character beyond ASCII: write it as an escape.')
  return code.replaceAll(BEYOND_ASCII, (_, slashes: string, character: string) => {
    // A character that is escaped as itself: its backslash would escape that of the code.
    const before = slashes.length % 2 === 0 ? slashes : slashes.slice(1)
    return `${before}\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Returns the hash of the build: equal sources give equal names. */
export function contentHash(folder: string): string {
  const hash = createHash('sha256')
  for (const file of fs.readdirSync(folder).toSorted())
    hash.update(`${file}\0`).update(fs.readFileSync(join(folder, file)))
  return hash.digest('hex').slice(0, 12)
}

/** A build of the same sources may be running: it is kept, with a new modification time. */
function publish(draft: string, target: string): void {
  try {
    fs.renameSync(draft, target)
  } catch (error) {
    if (!fs.existsSync(target)) throw error
    const now = new Date()
    fs.utimesSync(target, now, now)
  }
}

/**
 * Renamed into place, so that a program that starts meanwhile runs the old or the new build. The
 * modification time is the start of the build, so that sources changed meanwhile are newer.
 */
function writeEntry(target: string, name: string, startedAt: Date): void {
  const draft = `${target}.${process.pid}`
  fs.writeFileSync(draft, `import './${name}/reeve.js'\n`)
  fs.utimesSync(draft, startedAt, startedAt)
  fs.renameSync(draft, target)
}

function removeOldBuilds(folder: string, current: string): void {
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
