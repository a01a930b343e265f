/**
 * Job files that are nearly right: the case files, changed at random. Each must be read or refused
 * in time, and nothing may be thrown. `node packages/reeve/fuzz/jobspec.fuzz.ts [--seconds N]
 * [--seed S]`. A failure prints the seed and the text, and ends with status 1.
 */
import { parseArgs } from 'node:util'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ParsedJob } from '@reeve/contract'
import { Value } from 'typebox/value'
import { parseJobFile, parseLegacyJobFile, type JobFileResult } from '../src/jobspec/index.ts'
import { bodyToValue, createScope, parseHclJson, parseHcl1 } from '@reeve/hcl'
import { canonicalizeJob, PARSE_DEFAULTS, validateJob } from '../src/model/index.ts'
import { readCases } from '../test/jobspec/case-files.ts'
import { mutate, pick, seededRandom, type RandomSource } from '@reeve/kit/fuzz/mutate.ts'

const LENGTH_MAX = 64 * 1024
const TOOK_MS_MAX = 1_000
const DIAGNOSTICS_MAX = 51

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
})

/** The result of one reader for one text. */
type Verdict = 'accepted' | 'refused'

interface Reader {
  readonly texts: readonly string[]
  readonly read: (text: string, draw: RandomSource) => Verdict
}

const cases = readCases()
const isJson = (text: string): boolean => text.trimStart().startsWith('{')
const NATIVE = cases.filter(({ isLegacy }) => !isLegacy).map(({ text }) => text)
const LEGACY = cases
  .filter(({ isLegacy, text }) => isLegacy || !isJson(text))
  .map(({ text }) => text)
const JSON_FORM = [
  ...NATIVE.filter(isJson),
  ...cases.map(({ expected }) => JSON.stringify(expected ?? {})),
]
const VARIABLES = [
  'a = 1\nb = "x"\nc = [1, 2]\n',
  ...cases.flatMap(({ variableTexts }) => variableTexts.map(({ text }) => text)),
]

const READERS: ReadonlyMap<string, Reader> = new Map([
  ['job file', { texts: NATIVE, read: readJobFile }],
  [
    'older job file',
    {
      texts: LEGACY,
      read: (text) => checkJobFile(parseLegacyJobFile({ file: 'input.hcl', text })),
    },
  ],
  ['JSON value', { texts: JSON_FORM, read: (text) => readValue(parseHclJson(text, 'f')) }],
  ['older value', { texts: LEGACY, read: (text) => readValue(parseHcl1(text, 'f')) }],
])

function readJobFile(text: string, draw: RandomSource): Verdict {
  const inline = draw.below(3) === 0 ? mutate(VARIABLES, draw, LENGTH_MAX) : ''
  const variableTexts = inline === '' ? [] : [{ file: 'variables.hcl', text: inline }]
  const request = { file: 'input.hcl', text, variableTexts, files: undefined }
  const random = { next: () => 0.5 }
  return checkJobFile(parseJobFile({ ...request, strict: draw.below(2) === 0, random }))
}

function readValue(body: ReturnType<typeof parseHclJson>): Verdict {
  return check(body.ok ? bodyToValue(body.value, { scope: createScope() }) : body)
}

function checkJobFile(result: JobFileResult): Verdict {
  if (!result.ok) return check(result)
  const { job, positions } = result.value
  if (!Value.Check(ParsedJob, job)) throw new Error('the job is none of the contract')
  const { list } = validateJob(canonicalizeJob(job, PARSE_DEFAULTS))
  for (const { path } of list) positions.find(path)
  return 'accepted'
}

interface Failed {
  readonly ok: false
  readonly error: readonly { readonly range: { readonly start: { readonly line: number } } }[]
}

function check(result: { readonly ok: true } | Failed): Verdict {
  if (result.ok) return 'accepted'
  const { error } = result
  if (error.length === 0 || error.length > DIAGNOSTICS_MAX)
    throw new Error(`refused with ${error.length} problems`)
  if (error.some(({ range }) => range.start.line < 1)) throw new Error('a problem has no place')
  return 'refused'
}

interface Tally {
  accepted: number
  refused: number
  slowestMs: number
  slowest: string
}

function run(seconds: number, seed: number): ReadonlyMap<string, Tally> {
  const tallies = new Map<string, Tally>()
  const end = performance.now() + seconds * 1_000
  for (let round = seed * 1_000_000; performance.now() < end; round++) {
    const draw = seededRandom(Math.imul(round, 2_654_435_761))
    const [name, reader] = pick(draw, [...READERS])
    const tally = tallies.get(name) ?? { accepted: 0, refused: 0, slowestMs: 0, slowest: '' }
    tallies.set(name, tally)
    const text = mutate(reader.texts, draw, LENGTH_MAX)
    note(tally, { text, round, name, work: () => reader.read(text, draw) })
  }
  return tallies
}

interface Round {
  readonly name: string
  readonly text: string
  readonly round: number
  readonly work: () => Verdict
}

function note(tally: Tally, { name, text, round, work }: Round): void {
  const start = process.threadCpuUsage()
  try {
    tally[work()]++
  } catch (thrown) {
    fail(
      `${name}, round ${round}: ${thrown instanceof Error ? thrown.stack : String(thrown)}`,
      text,
    )
  }
  // Time of this thread, so that other work on the machine does not count.
  const { user, system } = process.threadCpuUsage(start)
  const tookMs = (user + system) / 1_000
  if (tookMs > TOOK_MS_MAX) fail(`${name}, round ${round}: took ${Math.round(tookMs)} ms`, text)
  if (tookMs <= tally.slowestMs) return
  tally.slowestMs = tookMs
  tally.slowest = `round ${round}, ${text.length} characters`
}

function fail(message: string, text: string): never {
  const file = join(tmpdir(), 'jobspec-fuzz-failure.hcl')
  writeFileSync(file, text)
  process.stderr.write(`${message}\nThe text is in ${file}\n`)
  process.exit(1)
}

const tallies = run(Number(options.seconds), Number(options.seed))
for (const [name, { accepted, refused, slowestMs, slowest }] of tallies)
  process.stdout.write(
    `${name.padEnd(14)} ${accepted + refused} inputs, ${accepted} accepted, ${refused} refused, slowest ${slowestMs.toFixed(1)} ms (${slowest})\n`,
  )
