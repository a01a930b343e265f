import type { JobPolicyFinding, JobPolicyOutcome, v2 } from '@reeve/contract'
import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import type { Paint, TextStyle } from '../output/color.ts'

/** Formats the results of policy sets, with the findings of failed policies. */
export function formatSetResults(sets: readonly v2.PolicySetVerdict[], paint: Paint): string {
  return sets.map((set) => formatSetResult(set, paint)).join('\n')
}

function formatSetResult(set: v2.PolicySetVerdict, paint: Paint): string {
  const error = set.error === '' ? [] : [`  ${paint('bad', set.error)}`]
  const outcomes = set.outcomes.flatMap((outcome) => policyResultLines(outcome, paint))
  return [`Policy set "${set['policy-set-name']}":`, ...error, ...outcomes].join('\n')
}

function policyResultLines(outcome: v2.PolicyOutcome, paint: Paint): readonly string[] {
  const isPassed = outcome.status === 'passed'
  const tone = isPassed ? 'good' : outcome.effective_level === 'advisory' ? 'warning' : 'bad'
  const name = `  "${outcome.policy_name}" (${outcome.enforcement_level})`
  if (outcome.skipped !== undefined) return [`${name} was not asked: ${outcome.skipped}`]
  const head = `${name} ${outcome.status}`
  return [
    paint(tone, head),
    ...outcome.findings.map((finding) => `    * ${formatFinding(finding)}`),
  ]
}

/** Formats a policy finding with its source position in one line. */
export function formatFinding({ rule, file, line, column, message }: v2.PolicyFinding): string {
  const place = [
    file ?? '',
    line === null ? '' : `line ${line}`,
    column === null ? '' : `column ${column}`,
  ].filter((part) => part !== '')
  const where = line === null ? '' : ` (${place.join(', ')})`
  return `${rule === null ? '' : `${rule}: `}${message}${where}`
}

/** Policy results of a run. */
export interface PolicyResults {
  /** Results of native policies, as text with every rule. */
  readonly checks: readonly {
    readonly status: string
    readonly output: string
    readonly override: v2.OverrideRecord | null
  }[]
  /** Results of OPA policies, by policy set. */
  readonly sets: readonly v2.PolicySetVerdict[]
  readonly stages: readonly ItemOf<'listTaskStages'>[]
}

export async function readPolicyResults(
  { client }: CommandContext,
  runId: string,
): Promise<PolicyResults> {
  const params = { run_id: runId }
  const checks: PolicyResults['checks'][number][] = []
  for await (const check of client.pages('listPolicyChecks', { params })) {
    const { data } = await client.v2.readPolicyCheckOutput({
      params: { policy_check_id: check.id },
    })
    const { status, override } = check.attributes
    checks.push({ status, output: data ?? '', override })
  }
  const stages: ItemOf<'listTaskStages'>[] = []
  for await (const stage of client.pages('listTaskStages', { params })) stages.push(stage)
  const sets: v2.PolicySetVerdict[] = []
  for (const stage of stages) {
    for (const { id } of stage.relationships['policy-evaluations'].data) {
      const at = { params: { policy_evaluation_id: id } }
      for await (const { attributes } of client.pages('listPolicySetOutcomes', at)) {
        sets.push(attributes)
      }
    }
  }
  return { checks, sets, stages }
}

export function formatRunPolicyResults(results: PolicyResults, paint: Paint): string {
  const checks = results.checks.map(({ status, output, override }) => {
    const head = override === null ? `${status.replaceAll('_', ' ')}.` : overrideText(override)
    return `Policy check ${head}\n${output.trimEnd()}\n`
  })
  const stages = results.stages.flatMap(({ attributes: { override } }) =>
    override === null ? [] : [`Policy evaluation ${overrideText(override)}\n`],
  )
  return [...checks, ...stages, formatSetResults(results.sets, paint)]
    .filter((text) => text !== '')
    .join('\n')
}

function overrideText({ username, comment }: v2.OverrideRecord): string {
  return `overridden by ${username}${comment === null || comment === '' ? '' : `: ${comment}`}.`
}

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
