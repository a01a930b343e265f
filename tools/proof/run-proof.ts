import { spawn, type ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { readReport, type ExperimentReport } from '../../packages/reeve/test/build/experiment.ts'
import type { ProofOptions } from './options.ts'
import { renderPage, type ProofEnvironment } from './page.ts'
import { planTime, type PlannedExperiment } from './plan.ts'
import {
  formatCounts,
  formatDuration,
  formatOutcomes,
  isProved,
  type ExperimentResult,
  type Outcome,
} from './experiments.ts'

interface ProofContext {
  readonly root: string
  readonly place: ProofEnvironment
  readonly print: (line: string) => void
  /** Ends the run; no page is written then. */
  readonly signal: AbortSignal
}

/** Counts are reported more often than a person wants to read them. */
const PROGRESS_EVERY_MS = 15_000

/** Runs the experiments one after the other, and writes the page. Returns the exit status. */
export async function runProof(options: ProofOptions, surroundings: ProofContext): Promise<number> {
  const { root, place, print, signal } = surroundings
  const { minutes, seed, out } = options
  const startedMs = Date.now()
  const begunMs = performance.now()
  const plan = planTime(minutes * 60_000, options.experiments)
  print(`proof: ${plan.length} experiments, ${minutes} min, seed ${seed}`)
  const plannedMs = plan.reduce((sum, { totalMs }) => sum + totalMs, 0)
  if (plannedMs > minutes * 60_000 + 1_000)
    print(`proof: the minimum of these experiments is ${formatDuration(plannedMs)}`)
  const results: ExperimentResult[] = []
  for (const [at, planned] of plan.entries()) {
    print(
      `[${at + 1}/${plan.length}] ${planned.experiment.name}: ${formatDuration(planned.totalMs)}`,
    )
    results.push(await runPlanned(planned, options, surroundings))
    if (signal.aborted) return 1
  }
  const tookMs = performance.now() - begunMs
  const run = { ...place, startedMs, minutes, seed, tookMs, results }
  if (out !== undefined) writeFileSync(resolve(root, out), renderPage(run))
  print(`\n${formatOutcomes(results)} in ${formatDuration(tookMs)}, seed ${seed}`)
  for (const { outcome } of results)
    if (outcome.kind === 'failed') for (const command of outcome.again) print(`again: ${command}`)
  if (out !== undefined) print(`page: ${out}`)
  return isProved(results) ? 0 : 1
}

async function runPlanned(
  planned: PlannedExperiment,
  { seed }: ProofOptions,
  { root, print, signal }: ProofContext,
): Promise<ExperimentResult> {
  let printedMs = performance.now()
  const result = await runExperiment(planned, {
    root,
    seed,
    signal,
    progress: ({ counts }) => {
      const isSoon = performance.now() - printedMs < PROGRESS_EVERY_MS
      if (isSoon || Object.keys(counts).length === 0) return
      printedMs = performance.now()
      print(`  … ${formatCounts(counts)}`)
    },
    complain: (lines) => {
      for (const line of lines) print(`  | ${line}`)
    },
  })
  const { outcome, counts, tookMs } = result
  const text =
    outcome.kind === 'not run'
      ? `not run: ${outcome.reason}`
      : `${outcome.kind === 'failed' ? `FAILED: ${outcome.reason}` : 'passed'} in ${formatDuration(tookMs)}; ${formatCounts(counts)}`
  print(`  ${text}`)
  if (outcome.kind === 'failed') for (const command of outcome.again) print(`  again: ${command}`)
  return result
}

interface ExperimentContext {
  /** The folder that scripts are relative to. */
  readonly root: string
  readonly seed: number
  /** Receives the counts while the experiment runs. */
  readonly progress: (report: ExperimentReport) => void
  /** Receives the last lines of output after a failure. */
  readonly complain: (lines: readonly string[]) => void
  /** Ends the experiment. */
  readonly signal: AbortSignal
  /** How much longer than planned it may take. */
  readonly graceMs?: number
}

/** A round that has begun is finished, and what was broken is mended: on a busy machine, slowly. */
const OVERTIME_MS_MAX = 6 * 60_000
const TAIL_LINES = 60
/** After a request to end; then the process is killed with all that it started. */
const END_MS_MAX = 10_000

/** Runs the script of an experiment as a process of its own, with a deadline. */
export async function runExperiment(
  planned: PlannedExperiment,
  surroundings: ExperimentContext,
): Promise<ExperimentResult> {
  const { experiment, totalMs, minutes } = planned
  const { root, seed, progress, complain, signal, graceMs = OVERTIME_MS_MAX } = surroundings
  const startedMs = performance.now()
  const [file, ...args] = experiment.script
  const lengthArgs = ['--minutes', String(minutes), '--seed', String(seed)]
  const child = spawn(process.execPath, [file, ...args, ...lengthArgs], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that whatever it started can be ended with it.
    detached: true,
  })
  const output = followOutput(child, progress)
  const closed = new Promise<number | null>((settle) => child.once('close', settle))
  const limits = AbortSignal.any([signal, AbortSignal.timeout(totalMs + graceMs)])
  const end = (): void => endGroup(child, closed)
  limits.addEventListener('abort', end)
  const code = await closed
  limits.removeEventListener('abort', end)
  const isLate = limits.aborted && !signal.aborted
  const outcome = outcomeOf({ code, isLate, limitMs: totalMs + graceMs, ...output, planned, seed })
  if (outcome.kind === 'failed') complain(output.tail)
  const counts = output.report.counts
  return { experiment, seed, tookMs: performance.now() - startedMs, counts, outcome }
}

interface Output {
  report: ExperimentReport
  readonly tail: string[]
  /** Commands that the script itself has named. */
  readonly again: string[]
}

function followOutput(child: ChildProcess, progress: (report: ExperimentReport) => void): Output {
  const output: Output = { report: { counts: {} }, tail: [], again: [] }
  const receive = (line: string): void => {
    const report = readReport(line)
    if (report !== undefined) {
      output.report = report
      progress(report)
      return
    }
    const [, command] = /^again: (npm run .*)$/.exec(line.trim()) ?? []
    if (command !== undefined) output.again.push(command)
    output.tail.push(line)
    if (output.tail.length > TAIL_LINES) output.tail.shift()
  }
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null) createInterface({ input: stream }).on('line', receive)
  return output
}

interface EndedExperiment extends Output {
  readonly code: number | null
  readonly isLate: boolean
  readonly limitMs: number
  readonly planned: PlannedExperiment
  readonly seed: number
}

function outcomeOf({
  code,
  isLate,
  limitMs,
  report,
  again: repeatCommands,
  planned,
  seed,
}: EndedExperiment): Outcome {
  if (code === 0 && report.notRun !== undefined) return { kind: 'not run', reason: report.notRun }
  const hasCounted = Object.values(report.counts).some((count) => count > 0)
  if (code === 0 && hasCounted) return { kind: 'passed' }
  const reason = isLate
    ? `it did not end within ${Math.round(limitMs / 1_000)} s`
    : code === 0
      ? 'it ended without an error and did nothing'
      : `it ended with ${code === null ? 'a signal' : `status ${code}`}`
  const minutes = Number((planned.totalMs / 60_000).toFixed(2))
  const { name } = planned.experiment
  const whole = `npm run proof -- --only ${name} --seed ${seed} --minutes ${minutes}`
  return { kind: 'failed', reason, again: repeatCommands.length > 0 ? repeatCommands : [whole] }
}

function endGroup(child: ChildProcess, closed: Promise<unknown>): void {
  signalGroup(child, 'SIGTERM')
  const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), END_MS_MAX)
  void closed.then(() => clearTimeout(timer))
}

function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, name)
  } catch (thrown) {
    // The group has ended by itself.
    if (!(thrown instanceof Error) || !('code' in thrown) || thrown.code !== 'ESRCH') throw thrown
  }
}
