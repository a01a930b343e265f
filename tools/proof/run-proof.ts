import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ProofOptions } from './options.ts'
import { renderPage, type ProofEnvironment } from './page.ts'
import { planTime, type PlannedExperiment } from './plan.ts'
import {
  formatCounts,
  formatDuration,
  formatOutcomes,
  isProved,
  type ExperimentResult,
} from './result.ts'
import { runExperiment } from './run-experiment.ts'

export interface ProofContext {
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
