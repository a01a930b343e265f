/**
 * Job files: what reading one as people write them costs, first and later, on this thread and
 * through the reader of the server; and how long files that mean harm take until they are refused.
 * `node packages/reeve/bench/jobspec.bench.ts [--quick]`
 */
import { parseJobFile, type JobFileResult } from '../src/jobspec/index.ts'
import { canonicalizeJob, PARSE_DEFAULTS, validateJob } from '../src/model/index.ts'
import { JobFileReader } from '../src/workload/index.ts'
import { hostileJobFiles, realisticJobFile } from './job-file-texts.ts'
import { fixed, isQuick, printTable, rateOf, summary, whole } from './measure.ts'

const ROUNDS = isQuick ? 50 : 1_000
const READER_MS = isQuick ? 300 : 3_000
/** As long as a text may be, and about as long as one may be whose tokens are all counted. */
const HOSTILE_LENGTHS = [1_000_000, 300_000]

function read(text: string): JobFileResult {
  const random = { next: () => 0.5 }
  return parseJobFile({ file: 'input.hcl', text, strict: false, files: undefined, random })
}

/** Milliseconds that this thread worked: other work on the machine does not count. */
function workOf(work: () => unknown): number {
  const start = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1_000
}

function benchRealistic(): void {
  const text = realisticJobFile()
  const first = workOf(() => expectJob(read(text)))
  for (let round = 0; round < 200; round++) read(text)
  const tookMs = Array.from({ length: ROUNDS }, () => workOf(() => read(text)))
  const wholeMs = Array.from({ length: ROUNDS }, () => workOf(() => checkAll(text)))
  const row = (name: string, list: readonly number[]): string[] => {
    const { p50, p99, max } = summary(list, 1)
    return [name, fixed(p50), fixed(p99), fixed(max)]
  }
  process.stdout.write(
    `A job file of ${text.split('\n').length} lines, milliseconds of work; the first one took ${fixed(first)}\n`,
  )
  printTable(
    ['', 'p50', 'p99', 'max'],
    [row('parse and evaluate', tookMs), row('with defaults and validation', wholeMs)],
  )
}

function checkAll(text: string): void {
  const job = expectJob(read(text))
  validateJob(canonicalizeJob(job, PARSE_DEFAULTS))
}

function expectJob(result: JobFileResult) {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value.job
}

/** Through the thread of the server, the way a request goes. */
async function benchReader(): Promise<void> {
  const clock = { nowMs: () => 0, after: () => () => undefined }
  const reader = new JobFileReader({ clock })
  const text = realisticJobFile()
  const task = { text, variables: '', isLegacy: false, defaults: undefined, nowMs: 0 }
  const start = performance.now()
  await reader.read(task)
  const first = performance.now() - start
  const { perSecond, p50, p99, max } = await rateOf(READER_MS, () => reader.read(task))
  await reader.stop()
  process.stdout.write(
    `The same through the reader, wall clock; the first one, with the start of the thread, took ${fixed(first)}\n`,
  )
  printTable(
    ['per second', 'p50', 'p99', 'max'],
    [[whole(perSecond), fixed(p50), fixed(p99), fixed(max)]],
  )
}

function benchHostile(length: number): void {
  const rows = hostileJobFiles(length).map(({ name, text }) => {
    let outcome = 'accepted'
    const tookMs = workOf(() => {
      const result = read(text)
      if (!result.ok) outcome = result.error[0]?.summary ?? ''
    })
    return [name, whole(text.length), fixed(tookMs), outcome]
  })
  process.stdout.write(
    'Files that mean harm: milliseconds of work until they are read or refused\n',
  )
  printTable(['', 'characters', 'ms', 'outcome'], rows)
}

benchRealistic()
await benchReader()
for (const length of HOSTILE_LENGTHS) benchHostile(length)
