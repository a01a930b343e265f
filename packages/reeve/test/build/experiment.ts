import { writeSync } from 'node:fs'
import { parseArgs } from 'node:util'

/** Lines with this prefix on the standard output are reports; everything else is for people. */
const PREFIX = 'proof-report '
/** How often a running experiment reports its counts. */
const REPORT_EVERY_MS = 5_000

export type Counts = Readonly<Record<string, number>>

export interface ExperimentReport {
  readonly counts: Counts
  /** Why the experiment could not run on this machine. */
  readonly notRun?: string | undefined
}

interface ExperimentLength {
  readonly seed: number
  /** Undefined in the test suite: the experiment is then as short as a test. */
  readonly durationMs: number | undefined
}

/**
 * An experiment that the test suite runs in its shortest form and `npm run proof` for minutes: it
 * starts the same file with `--minutes` and `--seed` and reads the reports that it prints.
 */
export class Experiment {
  readonly seed: number
  readonly #durationMs: number | undefined
  readonly #startedMs = performance.now()
  readonly #counts = new Map<string, number>()
  #notRun: string | undefined
  #reportedMs = performance.now()

  /** @param seedDefault the seed of the test suite, whose runs are all alike */
  static fromArguments(seedDefault = 1): Experiment {
    const experiment = new Experiment(readLength(process.argv.slice(2), seedDefault))
    if (experiment.isLong) process.once('exit', () => experiment.#report())
    return experiment
  }

  constructor({ seed, durationMs }: ExperimentLength) {
    this.seed = seed
    this.#durationMs = durationMs
  }

  /** Whether a length was asked for, as proof does. */
  get isLong(): boolean {
    return this.#durationMs !== undefined
  }

  /** How long the experiment has to run; the short form takes `shortMs`. */
  durationMs(shortMs: number): number {
    return this.#durationMs ?? shortMs
  }

  /** Whether to begin another round: `shortRounds` in the test suite, else while time is left. */
  hasTime(roundsDone: number, shortRounds: number): boolean {
    if (this.#durationMs === undefined) return roundsDone < shortRounds
    return roundsDone === 0 || performance.now() - this.#startedMs < this.#durationMs
  }

  /** Adds to a count; its name is a plural noun. */
  count(name: string, by = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by)
    if (!this.isLong || performance.now() - this.#reportedMs < REPORT_EVERY_MS) return
    this.#reportedMs = performance.now()
    this.#report()
  }

  /** For the `skip` of a test: reports why the experiment cannot run here, if so. */
  skipIf(reason: string | false | undefined): string | false {
    if (reason === undefined || reason === false) return false
    this.#notRun = reason
    return reason
  }

  #report(): void {
    const report = { counts: Object.fromEntries(this.#counts), notRun: this.#notRun }
    // Not buffered: a process that ends has reported.
    writeSync(1, `${formatReport(report)}\n`)
  }
}

function readLength(args: readonly string[], seedDefault: number): ExperimentLength {
  const { values } = parseArgs({
    args: [...args],
    options: { minutes: { type: 'string' }, seed: { type: 'string' } },
    strict: false,
  })
  const { minutes, seed } = values
  return {
    seed: typeof seed === 'string' ? Number(seed) : seedDefault,
    durationMs: typeof minutes === 'string' ? Number(minutes) * 60_000 : undefined,
  }
}

export function formatReport(report: ExperimentReport): string {
  return `${PREFIX}${JSON.stringify(report)}`
}

/** The report on a line of output; undefined when it is another line. */
export function readReport(line: string): ExperimentReport | undefined {
  if (!line.startsWith(PREFIX)) return undefined
  const report: ExperimentReport = JSON.parse(line.slice(PREFIX.length))
  return report
}
