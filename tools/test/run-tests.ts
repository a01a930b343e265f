import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { run } from 'node:test'
import { pathToFileURL } from 'node:url'
import { EVENT_PATTERN } from './test-files.ts'
import { Reporter, type Results, type Style } from './reporter.ts'
import { root } from './script.ts'

/** Tests beside the code: fast, part of every check. */
export const UNIT_TESTS = [
  'packages/*/src/**/*.test.ts',
  'packages/*/node/**/*.test.ts',
  'tools/**/*.test.ts',
]
/** Tests of the whole product, over HTTP or as processes. */
export const PRODUCT_TESTS = ['packages/*/test/**/*.test.ts']

/** One more than the cores of a small machine: many files wait for programs that they start. */
const CONCURRENCY = 3
/** Too long a process leaves a core idle at the end. */
const SHARED_FILES_MAX = 20
/** A test that takes longer hangs; the run must end and say which one. */
const TEST_MS_MAX = 10 * 60_000
/** A test's server lives for some milliseconds: with more room it dies before it is moved. */
const HEAP = ['--min-semi-space-size=16', '--max-semi-space-size=64']
const PROCESS_MODULE = path.join(import.meta.dirname, '../test-process.ts')

export function findTests(patterns: readonly string[]): string[] {
  const exclude = (name: string) => name === 'node_modules'
  return fs.globSync([...patterns], { cwd: root, exclude }).toSorted()
}

interface RunOptions {
  /** A line or a dot for each file. */
  readonly style?: Style
  /** Patterns of the names of tests; only those run. */
  readonly names?: readonly string[]
}

/**
 * Runs the files on `node:test`. Files that start programs, or use what lasts longer than a test,
 * have a process each and begin first, the largest at the head; all others share processes with
 * their neighbours, because loading the same modules for each file takes longer than its tests.
 */
export async function runTests(
  files: readonly string[],
  { style = 'lines', names = [] }: RunOptions = {},
): Promise<Results> {
  const own = files.filter(needsOwnProcess).toSorted((a, b) => sizeOf(b) - sizeOf(a))
  const shared = files.filter((file) => !own.includes(file))
  const jobs = [...own.map((file) => [file]), ...batches(shared)]
  const folder = fs.mkdtempSync(path.join(tmpdir(), 'reeve-test-'))
  try {
    const entries = new Map(jobs.map((job, at) => [writeEntry(folder, job, at), job]))
    const reporter = new Reporter({ entries, style, isFiltered: names.length > 0 })
    if (jobs.length === 0) return reporter.results()
    process.env['NODE_COMPILE_CACHE'] = path.join(root, 'node_modules/.cache/reeve')
    const events = run({
      cwd: root,
      files: [...entries.keys()],
      ...(names.length > 0 && { testNamePatterns: [...names, EVENT_PATTERN] }),
      concurrency: CONCURRENCY,
      timeout: TEST_MS_MAX,
      execArgv: HEAP,
    })
    return await reporter.report(events)
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}

/** Imports and names in test files that start programs, threads or whole clusters. */
const HEAVY =
  /node:(?:child_process|worker_threads)|\/(?:program|program-process|postgres|launcher|real-\w+|browser|simulat\w+)\.ts'/
/** A hook of the whole file: in a shared process it would run between the tests of other files. */
const FILE_HOOK = /^(?:before|after)(?:Each)?\(/m
const HEAVY_FOLDER = /\/(?:e2e|sim|native|linearizability)\/|^packages\/web\/test\/|^tools\//

function needsOwnProcess(file: string): boolean {
  if (HEAVY_FOLDER.test(file)) return true
  const text = fs.readFileSync(path.join(root, file), 'utf8')
  return HEAVY.test(text) || FILE_HOOK.test(text)
}

function sizeOf(file: string): number {
  return fs.statSync(path.join(root, file)).size
}

/** Neighbours import the same modules. */
function batches(files: readonly string[]): string[][] {
  const count = Math.ceil(files.length / SHARED_FILES_MAX)
  const size = Math.ceil(files.length / count)
  return Array.from({ length: count }, (_, at) => files.slice(at * size, (at + 1) * size))
}

/** The runner starts a process for each file: one that runs the files of the job. */
function writeEntry(folder: string, files: readonly string[], at: number): string {
  const entry = path.join(folder, `job-${at}.mjs`)
  fs.writeFileSync(entry, `import ${JSON.stringify(pathToFileURL(PROCESS_MODULE).href)}\n`)
  fs.writeFileSync(`${entry}.json`, JSON.stringify(files))
  return entry
}
