/**
 * Job files: the cost of reading a realistic file, cold and warm, on this thread and through the
 * server's reader thread; and the time until hostile files are rejected. Then the same for jobs in
 * JSON: each step with the largest job, and hostile bodies. `node
 * packages/reeve/bench/jobspec.bench.ts [--quick]`
 */
import { v1Routes, type JobRegisterRequest, type Route } from '@reeve/contract'
import { compileDecoder, type Decoder } from '../src/http/decode.ts'
import { parseJsonPrefix } from '../src/http/json-body.ts'
import { parseJobFile, type JobFileResult } from '../src/jobspec/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import {
  canonicalizeJob,
  diffJobs,
  jobSpecChanged,
  PARSE_DEFAULTS,
  validateJob,
} from '../src/model/index.ts'
import { JobFileReader } from '../src/workload/index.ts'
import { hostileJobFiles, realisticJobFile } from './job-file-texts.ts'
import { hostileBodies, largestJobs } from './large-jobs.ts'
import { fixed, isQuick, printTable, rateOf, summary, whole } from './measure.ts'

const ROUNDS = isQuick ? 50 : 1_000
const LARGE_ROUNDS = isQuick ? 3 : 10
const READER_MS = isQuick ? 300 : 3_000
/**
 * The maximum length of a text, and about the maximum length of one whose tokens are all counted.
 */
const HOSTILE_LENGTHS = [1_000_000, 300_000]

function read(text: string): JobFileResult {
  const random = { next: () => 0.5 }
  return parseJobFile({ file: 'input.hcl', text, strict: false, files: undefined, random })
}

/** CPU milliseconds of this thread: other load on the machine does not count. */
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

/** Through the server's thread, as for a request. */
async function benchReader(): Promise<void> {
  const clock = { nowMs: () => 0, monotonicMs: () => 0, after: () => () => undefined }
  const reader = new JobFileReader({ clock })
  const text = realisticJobFile()
  const task = { text, variables: '', isLegacy: false, defaults: undefined, nowMs: 0 }
  const start = performance.now()
  await reader.read(task, { tenant: 'bench' })
  const first = performance.now() - start
  const { perSecond, p50, p99, max } = await rateOf(READER_MS, () =>
    reader.read(task, { tenant: 'bench' }),
  )
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

/** The steps of a request with a large job; the event loop is free between steps. */
function benchLargestJobs(): void {
  const route: Route = v1Routes.registerJob
  const decode = compileDecoder(route.body ?? {})
  const rows = largestJobs().map(({ name, text }) => {
    let rounds: readonly (readonly number[])[] = []
    for (let round = 0; round < LARGE_ROUNDS; round++) rounds = [...rounds, stepsOf(text, decode)]
    // The first request includes compilation.
    const best = rounds[0]?.map((_, step) => Math.min(...rounds.map((took) => took[step] ?? 0)))
    return [name, whole(text.length), ...(best ?? []).map(fixed)]
  })
  process.stdout.write('The largest jobs: milliseconds of each step, the best of some rounds\n')
  printTable(['', 'characters', 'read', 'defaults', 'check', 'compare', 'diff', 'write'], rows)
}

function stepsOf(text: string, decode: Decoder): readonly number[] {
  // Proof: returned by the decoder of this schema.
  const decoded = timedWork(() => decode(parseJsonPrefix(text)) as JobRegisterRequest)
  const filled = timedWork(() => canonicalizeJob(decoded.value.Job ?? {}, PARSE_DEFAULTS))
  const job = filled.value
  const checked = timedWork(() => validateJob(job))
  const same = structuredClone(job)
  const compared = timedWork(() => jobSpecChanged(job, same))
  const diffed = timedWork(() => diffJobs(undefined, job, { contextual: true }))
  const written = timedWork(() => JSON.stringify(job))
  return [decoded, filled, checked, compared, diffed, written].map(({ tookMs }) => tookMs)
}

function timedWork<T>(work: () => T): { readonly value: T; readonly tookMs: number } {
  const start = performance.now()
  const value = work()
  return { value, tookMs: performance.now() - start }
}

function benchHostileBodies(): void {
  const rows = hostileBodies().map(({ name, text }) => {
    let outcome = 'parsed'
    const { tookMs } = timedWork(() => {
      try {
        parseJsonPrefix(text)
      } catch (thrown) {
        outcome = errorMessage(thrown)
      }
    })
    return [name, whole(text.length), fixed(tookMs), outcome]
  })
  process.stdout.write('Bodies that mean harm: milliseconds until they are parsed or refused\n')
  printTable(['', 'characters', 'ms', 'outcome'], rows)
}

benchRealistic()
benchLargestJobs()
benchHostileBodies()
await benchReader()
for (const length of HOSTILE_LENGTHS) benchHostile(length)
