import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { root, runScript } from './script.mjs'

/** Tests beside the code: fast, pure, part of every check. */
export const UNIT_TESTS = ['packages/*/src/**/*.test.ts', 'tools/**/*.test.ts']
/** Tests of the whole product, over HTTP or as processes. */
export const API_TESTS = ['packages/*/test/**/*.test.ts']

/** One more than the cores of a small machine: many files wait for programs that they start. */
const CONCURRENCY = 3
/** Files of one process load modules once; too long a process leaves a core idle at the end. */
const SHARED_FILES_MAX = 40
/** The same for files that wait for a server of their own, and so take longer. */
const SERVED_FILES_MAX = 7
/** A test that takes longer hangs; the run must end and say which one. */
const TEST_MS_MAX = 10 * 60_000

/** What takes longest, in that order: begun last, it would run on alone while a core idles. */
const LONGEST = [
  'cli/every-command.test.ts',
  'web/test/governance.test.ts',
  'web/test/pages-governance.test.ts',
  'agent/crash.test.ts',
  'e2e/dev-cluster.test.ts',
  'web/test/pages-cluster.test.ts',
  'web/test/cluster.test.ts',
  'e2e/cluster.test.ts',
  'web/test/jobs.test.ts',
  'e2e/silent-node.test.ts',
  'sim/seeds.test.ts',
  'sim/cluster-seeds.test.ts',
  'e2e/region-servers.test.ts',
  'e2e/cluster-faults.test.ts',
  'e2e/cluster-members.test.ts',
  'e2e/kill-writer.test.ts',
  'docker/podman.test.ts',
  'cli/exit-codes.test.ts',
  'native/fuzz.test.ts',
  'native/native-drivers.test.ts',
  'postgres/postgres-engine.test.ts',
]

export function findTests(patterns) {
  return globSync(patterns, { cwd: root, exclude: (name) => name === 'node_modules' }).toSorted()
}

/** Areas whose tests end what they begin. */
const AREAS = [
  'kit',
  'model',
  'lang',
  'acl',
  'scheduler',
  'state',
  'jobspec',
  'policy',
  'cli',
  'control',
  'workload',
  'governance',
  'cluster',
  'regions',
  'http',
  'agent',
  'main/config',
]

/**
 * Pure code leaves nothing behind in its process, nor does the application when it runs over the
 * memory engine; their tests share one: loading the same modules again for each file takes as long
 * as the tests, or several times that.
 */
const SHARED = [
  ...['contract', 'sdk', 'web'].map((name) => `packages/${name}/src/`),
  ...AREAS.map((area) => `packages/reeve/src/${area}/`),
  ...['api', 'control', 'workload', 'state', 'http', 'policy', 'jobspec', 'rego'].map(
    (kind) => `packages/reeve/test/${kind}/`,
  ),
]

/** Commands run in the process of their test; each file starts and ends a server beside it. */
const SERVED = ['packages/reeve/test/cli/']

/**
 * Runs the files and returns how many tests passed, failed and were skipped.
 * `style` is `lines` or `dots` per file; `names` are patterns of test names to run alone.
 */
export async function runTests(files, options = {}) {
  const isLong = (file) => LONGEST.some((end) => file.endsWith(end))
  const isIn = (folders) => (file) =>
    !isLong(file) && folders.some((folder) => file.startsWith(folder))
  const [shared, served] = [files.filter(isIn(SHARED)), files.filter(isIn(SERVED))]
  const own = longestFirst(files.filter((file) => !shared.includes(file) && !served.includes(file)))
  const jobs = [
    ...own.filter(isLong).map((file) => [file]),
    ...batches(shared, SHARED_FILES_MAX),
    ...batches(served, SERVED_FILES_MAX),
    ...own.filter((file) => !isLong(file)).map((file) => [file]),
  ]
  return await failedAgain(await runJobs(jobs, options), options)
}

/** Neighbours import the same modules. */
function batches(files, filesMax) {
  const count = Math.ceil(files.length / filesMax)
  const size = Math.ceil(files.length / count)
  return Array.from({ length: count }, (_, at) => files.slice(at * size, (at + 1) * size))
}

/**
 * Tests wait for processes and files by the clock of a busy machine. A file that failed beside
 * others is run once more by itself, in the open, and that counts.
 */
async function failedAgain(counts, options) {
  const { failedFiles = [] } = counts
  if (failedFiles.length === 0) return { ...counts, again: [] }
  const files = failedFiles.map(({ file }) => file)
  console.log(`\nFailed beside others; again, one by one: ${files.join(', ')}`)
  const jobs = files.map((file) => [file])
  const again = await runJobs(jobs, { ...options, concurrency: 1 })
  const sum = (name) => failedFiles.reduce((total, file) => total + file[name], 0)
  return {
    passed: counts.passed - sum('passed') + again.passed,
    failed: counts.failed - sum('failed') + again.failed,
    skipped: counts.skipped - sum('skipped') + again.skipped,
    times: [...(counts.times ?? []), ...(again.times ?? [])],
    again: files,
  }
}

/** Runs jobs, each a list of files that share a process. */
async function runJobs(jobs, { style = 'lines', names = [], concurrency = CONCURRENCY }) {
  if (jobs.length === 0) return { passed: 0, failed: 0, skipped: 0 }
  const folder = mkdtempSync(path.join(tmpdir(), 'reeve-test-'))
  try {
    const countsFile = path.join(folder, 'counts.json')
    const options = { jobs, names, concurrency, timeoutMs: TEST_MS_MAX, style, folder, countsFile }
    const optionsFile = path.join(folder, 'options.json')
    writeFileSync(optionsFile, JSON.stringify(options))
    const { isOk } = await runScript(['tools/test-files.mjs', optionsFile], {
      env: { NODE_COMPILE_CACHE: path.join(root, 'node_modules/.cache/reeve') },
    })
    return readCounts(countsFile, isOk)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function longestFirst(files) {
  const rank = (file) => {
    const at = LONGEST.findIndex((end) => file.endsWith(end))
    return at < 0 ? LONGEST.length : at
  }
  return files.toSorted((a, b) => rank(a) - rank(b))
}

/** A runner that failed without a failed test, or that left no counts, is a failure itself. */
function readCounts(file, isOk) {
  let counts
  try {
    counts = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    console.log(`The test runner left no result: ${error.message}`)
    return { passed: 0, failed: 1, skipped: 0 }
  }
  return !isOk && counts.failed === 0 ? { ...counts, failed: 1 } : counts
}

export function addCounts(a, b) {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    failedFiles: [...(a.failedFiles ?? []), ...(b.failedFiles ?? [])],
    times: [...(a.times ?? []), ...(b.times ?? [])],
    again: [...(a.again ?? []), ...(b.again ?? [])],
  }
}
