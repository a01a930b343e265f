import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { pick, seededRandom, type RandomSource } from './mutate.ts'

/** Maximum CPU time of one round. A slower input could block a server that reads policies. */
const ROUND_MS_MAX = 2_000

/** Generates an input and runs it. `run` throws when the result is wrong. */
export interface FuzzTarget {
  readonly name: string
  readonly generate: (draw: RandomSource) => string
  /** Returns the outcome of the round, which is counted in the summary. */
  readonly run: (text: string, draw: RandomSource) => string
}

interface Tally {
  readonly outcomes: Map<string, number>
  slowestMs: number
  slowest: string
}

/** Options: `--seconds N --seed S`. On a failure, prints the round and saves the input. */
export function runFuzzTargets(title: string, readers: readonly FuzzTarget[]): void {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
    },
  })
  const tallies = new Map<string, Tally>()
  const end = performance.now() + Number(values.seconds) * 1_000
  for (let round = Number(values.seed) * 1_000_000; performance.now() < end; round++) {
    const draw = seededRandom(Math.imul(round, 2_654_435_761))
    const reader = pick(draw, readers)
    const tally = tallies.get(reader.name) ?? { outcomes: new Map(), slowestMs: 0, slowest: '' }
    tallies.set(reader.name, tally)
    runRound(tally, { title, reader, round, draw })
  }
  for (const [name, { outcomes, slowestMs, slowest }] of tallies) {
    const total = [...outcomes.values()].reduce((sum, count) => sum + count, 0)
    const parts = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).toSorted()
    process.stdout.write(
      `${name}: ${total} inputs (${parts.join(', ')}), slowest ${slowestMs.toFixed(1)} ms (${slowest})\n`,
    )
  }
}

interface Round {
  readonly title: string
  readonly reader: FuzzTarget
  readonly round: number
  readonly draw: RandomSource
}

function runRound(tally: Tally, { title, reader, round, draw }: Round): void {
  const text = reader.generate(draw)
  const start = process.threadCpuUsage()
  try {
    const outcome = reader.run(text, draw)
    tally.outcomes.set(outcome, (tally.outcomes.get(outcome) ?? 0) + 1)
  } catch (thrown) {
    const said = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
    fail(title, `${reader.name}, round ${round}: ${said}`, text)
  }
  // CPU time of this thread: other load on the machine does not count.
  const { user, system } = process.threadCpuUsage(start)
  const tookMs = (user + system) / 1_000
  if (tookMs > ROUND_MS_MAX)
    fail(title, `${reader.name}, round ${round}: took ${Math.round(tookMs)} ms`, text)
  if (tookMs <= tally.slowestMs) return
  tally.slowestMs = tookMs
  tally.slowest = `round ${round}, ${text.length} characters`
}

function fail(title: string, message: string, text: string): never {
  const file = join(tmpdir(), `${title}-fuzz-failure.txt`)
  writeFileSync(file, text)
  process.stderr.write(`${message}\nThe text is in ${file}\n`)
  process.exit(1)
}
