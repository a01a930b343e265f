import type { JobPolicyFinding, JobPolicyOutcome } from '@reeve/contract'
import type { Paint, TextStyle } from '../output/style.ts'

const EFFECT_TEXTS: Readonly<
  Record<JobPolicyOutcome['Effect'], readonly [word: string, tone: TextStyle]>
> = {
  passes: ['passes', 'good'],
  warns: ['warns', 'warning'],
  denies: ['denies it', 'bad'],
  overridden: ['would deny it; it is overridden', 'warning'],
}

/** Formats the result of each policy, failed ones first. */
export function formatPolicyResults(outcomes: readonly JobPolicyOutcome[], paint: Paint): string {
  const failing = outcomes.filter(({ Effect }) => Effect !== 'passes')
  const passing = outcomes.filter(({ Effect }) => Effect === 'passes')
  return [...failing, ...passing].map((outcome) => formatPolicyResult(outcome, paint)).join('\n')
}

function formatPolicyResult(outcome: JobPolicyOutcome, paint: Paint): string {
  const { Policy, PolicySet, Level, Effect, Skipped, Findings, FindingsOmitted } = outcome
  const [word, tone] = EFFECT_TEXTS[Effect]
  const name = `Policy "${Policy}" of set "${PolicySet}" (${Level})`
  if (Skipped !== undefined) return `${name} was not asked: ${Skipped}.`
  const head = `${name} ${paint(tone, word)}.`
  if (Effect === 'passes') return head
  const more = FindingsOmitted > 0 ? [`  * and ${FindingsOmitted} more`] : []
  return [head, ...Findings.map((finding) => `  * ${formatJobFinding(finding)}`), ...more].join(
    '\n',
  )
}

function formatJobFinding({ Rule, File, Line, Column, Message }: JobPolicyFinding): string {
  const place = [
    ...(File === undefined ? [] : [File]),
    ...(Line === null ? [] : [`line ${Line}`]),
    ...(Column === null ? [] : [`column ${Column}`]),
  ]
  const where = Line === null ? '' : ` (${place.join(', ')})`
  return `${Rule === null ? '' : `${Rule}: `}${Message}${where}`
}

export function isDenied(outcomes: readonly JobPolicyOutcome[] | null): boolean {
  return (outcomes ?? []).some(({ Effect }) => Effect === 'denies')
}
