import type { v2 } from '@reeve/contract'
import type { Judgement } from './judgement.ts'

export type EnforcementLevel = v2.PolicyOutcome['enforcement_level']

/** A policy of a set that applies to a subject. */
export interface AppliedPolicy {
  readonly name: string
  readonly level: EnforcementLevel
  readonly description: string | null
  readonly query: string | null
}

/** What one set said about a subject. */
export interface JudgedSet {
  readonly name: string
  /** Opens hard policies too. */
  readonly overridable: boolean
  readonly outcomes: readonly v2.PolicyOutcome[]
}

/** What a failing policy amounts to. */
export type Weight =
  /** It warns. */
  | 'warning'
  /** It denies, unless somebody who may passes over it. */
  | 'overridable'
  | 'final'

/** How much a failure of this level weighs in such a set. */
export function weightOf(level: EnforcementLevel, isOverridableSet: boolean): Weight {
  switch (level) {
    case 'advisory':
      return 'warning'
    case 'soft-mandatory':
      return 'overridable'
    case 'hard-mandatory':
    case 'mandatory':
      return isOverridableSet ? 'overridable' : 'final'
  }
}

/** The level as it works in its set: an overridable set makes hard policies soft. */
export function effectiveLevel(
  level: EnforcementLevel,
  isOverridableSet: boolean,
): EnforcementLevel {
  return level === 'hard-mandatory' && isOverridableSet ? 'soft-mandatory' : level
}

export function outcomeOf(
  policy: AppliedPolicy,
  judgement: Judgement,
  isOverridableSet: boolean,
): v2.PolicyOutcome {
  return {
    policy_name: policy.name,
    enforcement_level: policy.level,
    effective_level: effectiveLevel(policy.level, isOverridableSet),
    query: policy.query,
    status: judgement.status,
    description: policy.description,
    output: [...judgement.output],
    findings: [...judgement.findings],
    ...(judgement.skipped === undefined ? {} : { skipped: judgement.skipped }),
  }
}

/** A policy that did not pass, and where it belongs. */
export interface Objection {
  readonly set: string
  readonly weight: Weight
  readonly outcome: v2.PolicyOutcome
}

/** What all sets together say of a subject. */
export interface Verdict {
  readonly isAllowed: boolean
  /** Policies that deny: these must pass, or be passed over. */
  readonly denials: readonly Objection[]
  /** Policies that were passed over. */
  readonly overridden: readonly Objection[]
  /** Policies that only warn. */
  readonly warnings: readonly Objection[]
}

/** An errored policy counts as failed: what cannot be evaluated does not let anything pass. */
export function verdictOf(sets: readonly JudgedSet[], isOverriding: boolean): Verdict {
  const objections = sets.flatMap(objectionsOf)
  const isPassedOver = ({ weight }: Objection) => isOverriding && weight === 'overridable'
  const denials = objections.filter((one) => one.weight !== 'warning' && !isPassedOver(one))
  return {
    isAllowed: denials.length === 0,
    denials,
    overridden: objections.filter(isPassedOver),
    warnings: objections.filter(({ weight }) => weight === 'warning'),
  }
}

function objectionsOf({ name, overridable, outcomes }: JudgedSet): readonly Objection[] {
  return outcomes
    .filter(({ status }) => status !== 'passed')
    .map((outcome) => ({
      set: name,
      weight: weightOf(outcome.enforcement_level, overridable),
      outcome,
    }))
}

/** `policy "x" (hard-mandatory) of set "y" failed: rule main, line 3, column 5: … is false`. */
export function objectionText({ set, outcome }: Objection): readonly string[] {
  const { policy_name, enforcement_level, status, findings } = outcome
  const head = `policy "${policy_name}" (${enforcement_level}) of set "${set}" ${status}`
  if (findings.length === 0) return [head]
  return findings.map((finding) => `${head}: ${findingText(finding)}`)
}

function findingText({ rule, file, line, column, message }: v2.PolicyFinding): string {
  const parts = [
    rule === null ? '' : `rule ${rule}`,
    file ?? '',
    line === null ? '' : `line ${line}`,
    column === null ? '' : `column ${column}`,
  ].filter((part) => part !== '')
  return parts.length === 0 ? message : `${parts.join(', ')}: ${message}`
}
