/**
 * The compiled code of all modules, which a release brings so that no start compiles them.
 *
 * The bytes depend on the seed of V8's hash tables, which is random. They are made with a fixed
 * one, and the mark of that flag is taken out again: two builds give the same bytes.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { crc32 } from 'node:zlib'

/** The flags with which servers and nodes run; compiled code is valid for exactly these. */
export const RUNTIME_FLAGS: readonly string[] = fs
  .readFileSync(join(import.meta.dirname, '../../bin/runtime-flags'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('--'))

/** Commands run with the first: other flags make V8 compile the runtime's own modules again. */
export const COMMAND_FLAGS: readonly string[] = RUNTIME_FLAGS.slice(0, 1)

const SEEDS = [
  '--hash-seed=1',
  '--random-seed=1',
  // Code holds padding that V8 does not initialize: without a collection, it is in fresh memory.
  '--min-semi-space-size=512',
  '--max-semi-space-size=512',
  '--initial-old-space-size=2000',
  // One thread compiles in one order.
  '--v8-pool-size=0',
]
const WARMUP_MS_MAX = 120_000

/** Commands that are run to compile their functions; none depends on time. */
const COMMANDS = [
  ['version', '--help'],
  ['job', 'status', '--help'],
  ['job', 'run', '--help'],
  ['agent', '--help'],
  ['config', 'validate', '/nonexistent'],
]

interface Program {
  /** The `program` folder of the release, and the name of the build in it. */
  readonly folder: string
  readonly name: string
  readonly node: string
}

interface FlaggedProgram extends Program {
  readonly flags: readonly string[]
}

/**
 * Compiled code holds the address of its module, so a release is compiled in this place, whatever
 * directory it is made in.
 */
const CACHE_BUILD_DIR = '/tmp/reeve-release-cache'
const LOCK_WAIT_MS_MAX = 300_000
const LOCK_POLL_MS = 500

/** Fills `cache/` beside the build, with a folder for each set of flags. */
export async function buildCompileCache({ folder, name, node }: Program): Promise<void> {
  await acquireBuildDir()
  try {
    fs.cpSync(join(folder, name), join(CACHE_BUILD_DIR, name), { recursive: true })
    for (const flags of [RUNTIME_FLAGS, COMMAND_FLAGS])
      fillCache({ folder: CACHE_BUILD_DIR, name, node, flags })
    fs.cpSync(join(CACHE_BUILD_DIR, 'cache'), join(folder, 'cache'), { recursive: true })
  } finally {
    fs.rmSync(CACHE_BUILD_DIR, { recursive: true })
  }
}

/** One build at a time; only its owner may enter the directory. */
async function acquireBuildDir(): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += LOCK_POLL_MS) {
    try {
      fs.mkdirSync(CACHE_BUILD_DIR, { mode: 0o700 })
      return
    } catch (error) {
      if (waitedMs > LOCK_WAIT_MS_MAX)
        throw new Error(
          `${CACHE_BUILD_DIR} is there: another release is being built, or remove it.`,
          {
            cause: error,
          },
        )
      await wait(LOCK_POLL_MS)
    }
  }
}

function fillCache(program: FlaggedProgram): void {
  const { folder, node, flags } = program
  const wanted = cacheTag(node, flags)
  const seeded = cacheTag(node, [...flags, ...SEEDS])
  const cache = join(folder, 'cache')
  // The program uses this folder only where its name is that of the runtime's tag.
  fs.mkdirSync(join(cache, seeded), { recursive: true })
  const flagHash = readFlagHash(program, join(folder, 'probe'))
  for (const args of COMMANDS) runSeeded(program, [join(folder, program.name, 'reeve.js'), ...args])
  importAll(program)
  for (const file of fs.readdirSync(join(cache, seeded))) {
    const path = join(cache, seeded, file)
    if (/^[0-9a-f]+$/.test(file))
      fs.writeFileSync(path, withoutSeedFlags(fs.readFileSync(path), flagHash))
    else fs.rmSync(path)
    if (fs.existsSync(path)) fs.chmodSync(path, 0o644)
  }
  fs.renameSync(join(cache, seeded), join(cache, wanted))
}

function cacheTag(node: string, flags: readonly string[]): string {
  const script =
    "`${process.version}-${process.arch}-${require('node:v8').cachedDataVersionTag().toString(16).padStart(8, '0')}`"
  return execFileSync(node, [...flags, '-p', script], { encoding: 'utf8' }).trim()
}

/** In the folder of the build: a module of a thread may create files where it is started. */
function runSeeded({ node, folder, flags }: FlaggedProgram, args: readonly string[]): void {
  spawnSync(node, [...flags, ...SEEDS, ...args], {
    cwd: folder,
    stdio: 'ignore',
    timeout: WARMUP_MS_MAX,
    env: { HOME: '/nonexistent', LC_ALL: 'C', TZ: 'UTC' },
  })
}

/**
 * Every module in a process of its own kind: modules that begin a thread or a process do their work
 * when they are imported, so they end with the process.
 */
function importAll(program: FlaggedProgram): void {
  const folder = join(program.folder, program.name)
  const chunks = fs
    .readdirSync(folder)
    .filter((file) => file.endsWith('.js'))
    .toSorted()
  const started = chunks.filter((file) => isEntryModule(join(folder, file)))
  const begun = new Set(started.flatMap((file) => importsOf(join(folder, file))))
  const others = chunks.filter((file) => !started.includes(file) && !begun.has(file))
  const script = join(program.folder, 'import-all.mjs')
  fs.writeFileSync(script, IMPORT_ALL)
  const cache = join(program.folder, 'cache')
  runSeeded(program, [script, cache, ...others.map((file) => join(folder, file))])
  for (const file of begun) runSeeded(program, [script, cache, join(folder, file)])
  fs.rmSync(script)
}

function isEntryModule(file: string): boolean {
  return fs.readFileSync(file, 'utf8').includes('enableCompileCache({')
}

function importsOf(file: string): string[] {
  const text = fs.readFileSync(file, 'utf8')
  return [...text.matchAll(/import\("\.\/([^"]+)"\)/g)].map(([, name = '']) => name)
}

const IMPORT_ALL = `import { enableCompileCache } from 'node:module'
import { pathToFileURL } from 'node:url'
const [directory, ...files] = process.argv.splice(2)
enableCompileCache({ directory, portable: true })
process.on('uncaughtException', () => undefined)
for (const file of files) await import(pathToFileURL(file).href).catch(() => undefined)
process.exit(0)
`

/** Node's head: magic, size of code and cache, hash of code, hash of cache; then V8's. */
const CACHE_HASH_AT = 16
const V8_AT = 20
const FLAG_HASH_AT = V8_AT + 12

/** The hash of flags that V8 writes into compiled code without the seeds. */
function readFlagHash({ node, flags }: FlaggedProgram, probe: string): number {
  fs.mkdirSync(probe, { recursive: true })
  fs.writeFileSync(join(probe, 'probe.mjs'), 'export const probe = 1\n')
  fs.writeFileSync(
    join(probe, 'run.mjs'),
    `import { enableCompileCache } from 'node:module'
enableCompileCache({ directory: ${JSON.stringify(join(probe, 'cache'))}, portable: true })
await import('./probe.mjs')
`,
  )
  execFileSync(node, [...flags, join(probe, 'run.mjs')])
  const [tag = ''] = fs.readdirSync(join(probe, 'cache'))
  const [file = ''] = fs.readdirSync(join(probe, 'cache', tag))
  const hash = fs.readFileSync(join(probe, 'cache', tag, file)).readUInt32LE(FLAG_HASH_AT)
  fs.rmSync(probe, { recursive: true })
  return hash
}

function withoutSeedFlags(data: Buffer, flagHash: number): Buffer {
  data.writeUInt32LE(flagHash, FLAG_HASH_AT)
  data.writeUInt32LE(crc32(data.subarray(V8_AT)), CACHE_HASH_AT)
  return data
}
