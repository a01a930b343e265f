import type { JobPolicyFinding, JobPolicyOutcome } from '@reeve/contract'
import type { Paint, Tone } from '../output/style.ts'

const EFFECTS: Readonly<Record<JobPolicyOutcome['Effect'], readonly [word: string, tone: Tone]>> = {
  passes: ['passes', 'good'],
  warns: ['warns', 'warning'],
  denies: ['denies it', 'bad'],
  overridden: ['would deny it; it is overridden', 'warning'],
}

/** What each policy says of the job, those that object first. */
export function verdictsText(outcomes: readonly JobPolicyOutcome[], paint: Paint): string {
  const objecting = outcomes.filter(({ Effect }) => Effect !== 'passes')
  const passing = outcomes.filter(({ Effect }) => Effect === 'passes')
  return [...objecting, ...passing].map((outcome) => outcomeText(outcome, paint)).join('\n')
}

function outcomeText(outcome: JobPolicyOutcome, paint: Paint): string {
  const { Policy, PolicySet, Level, Effect, Skipped, Findings, FindingsOmitted } = outcome
  const [word, tone] = EFFECTS[Effect]
  const name = `Policy "${Policy}" of set "${PolicySet}" (${Level})`
  if (Skipped !== undefined) return `${name} was not asked: ${Skipped}.`
  const head = `${name} ${paint(tone, word)}.`
  if (Effect === 'passes') return head
  const more = FindingsOmitted > 0 ? [`  * and ${FindingsOmitted} more`] : []
  return [head, ...Findings.map((finding) => `  * ${findingText(finding)}`), ...more].join('\n')
}

function findingText({ Rule, File, Line, Column, Message }: JobPolicyFinding): string {
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
