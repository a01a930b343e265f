import type { Counts } from '../../packages/reeve/test/build/experiment.ts'
import type { ProofExperiment } from './experiments.ts'

export type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'not run'; readonly reason: string }
  | {
      readonly kind: 'failed'
      readonly reason: string
      /** Commands that repeat the failure. */
      readonly again: readonly string[]
    }

export interface ExperimentResult {
  readonly experiment: ProofExperiment
  readonly seed: number
  readonly tookMs: number
  readonly counts: Counts
  readonly outcome: Outcome
}

/** `1,204 commits, 31 kills`: for the terminal and the page. */
export function formatCounts(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, count]) => `${new Intl.NumberFormat('en').format(count)} ${name}`)
    .join(', ')
}

export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const rest = seconds % 60
  return `${Math.floor(seconds / 60)} min${rest === 0 ? '' : ` ${rest} s`}`
}

/** `11 passed, 1 not run`. */
export function formatOutcomes(results: readonly ExperimentResult[]): string {
  const kinds = ['passed', 'failed', 'not run'] as const
  const parts = kinds.map(
    (kind) => [kind, results.filter(({ outcome }) => outcome.kind === kind).length] as const,
  )
  return parts
    .filter(([kind, count]) => count > 0 || kind !== 'not run')
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ')
}

/** Only a run in which every chosen experiment ran and passed proves something. */
export function isProved(results: readonly ExperimentResult[]): boolean {
  return results.length > 0 && results.every(({ outcome }) => outcome.kind === 'passed')
}
