import type { v2 } from '@reeve/contract'
import type { PolicyResult } from './engine.ts'

export type EnforcementLevel = v2.PolicyOutcome['enforcement_level']

/** A policy of a set that applies to an input. */
interface EnforcedPolicy {
  readonly name: string
  readonly level: EnforcementLevel
  readonly description: string | null
  readonly query: string | null
}

/** Results of the policies of one set. */
export interface PolicySetResult {
  readonly name: string
  /** Whether failures of hard-mandatory policies can be overridden too. */
  readonly overridable: boolean
  readonly outcomes: readonly v2.PolicyOutcome[]
}

/** Effect of a failed policy. */
type EnforcementEffect =
  /** Only warns. */
  | 'warning'
  /** Denies, unless a permitted user overrides it. */
  | 'overridable'
  | 'final'

/** Returns the effect of a failure at this level in the set. */
export function enforcementEffect(
  level: EnforcementLevel,
  isOverridableSet: boolean,
): EnforcementEffect {
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

/**
 * Returns the effective level: in an overridable set, hard-mandatory policies are soft-mandatory.
 */
function effectiveLevel(level: EnforcementLevel, isOverridableSet: boolean): EnforcementLevel {
  return level === 'hard-mandatory' && isOverridableSet ? 'soft-mandatory' : level
}

export function toPolicyOutcome(
  policy: EnforcedPolicy,
  result: PolicyResult,
  isOverridableSet: boolean,
): v2.PolicyOutcome {
  return {
    policy_name: policy.name,
    enforcement_level: policy.level,
    effective_level: effectiveLevel(policy.level, isOverridableSet),
    query: policy.query,
    status: result.status,
    description: policy.description,
    output: [...result.output],
    findings: [...result.findings],
    ...(result.skipped === undefined ? {} : { skipped: result.skipped }),
  }
}

/** A policy that did not pass, with its set. */
export interface PolicyViolation {
  readonly set: string
  readonly effect: EnforcementEffect
  readonly outcome: v2.PolicyOutcome
}

/** Decision over all sets for an input. */
export interface EnforcementDecision {
  readonly isAllowed: boolean
  /** Policies that deny. */
  readonly denials: readonly PolicyViolation[]
  /** Policies that were overridden. */
  readonly overridden: readonly PolicyViolation[]
  /** Policies that only warn. */
  readonly warnings: readonly PolicyViolation[]
}

/** Decides over all results. An errored policy counts as failed: it fails closed. */
export function decideEnforcement(
  sets: readonly PolicySetResult[],
  isOverriding: boolean,
): EnforcementDecision {
  const violations = sets.flatMap(violationsIn)
  const isOverridden = ({ effect }: PolicyViolation) => isOverriding && effect === 'overridable'
  const denials = violations.filter((one) => one.effect !== 'warning' && !isOverridden(one))
  return {
    isAllowed: denials.length === 0,
    denials,
    overridden: violations.filter(isOverridden),
    warnings: violations.filter(({ effect }) => effect === 'warning'),
  }
}

function violationsIn({
  name,
  overridable,
  outcomes,
}: PolicySetResult): readonly PolicyViolation[] {
  return outcomes
    .filter(({ status }) => status !== 'passed')
    .map((outcome) => ({
      set: name,
      effect: enforcementEffect(outcome.enforcement_level, overridable),
      outcome,
    }))
}

/**
 * Returns one line per finding, such as `policy "x" (hard-mandatory) of set "y" failed: rule main,
 * line 3, column 5: … is false`.
 */
export function formatViolation({ set, outcome }: PolicyViolation): readonly string[] {
  const { policy_name, enforcement_level, status, findings } = outcome
  const head = `policy "${policy_name}" (${enforcement_level}) of set "${set}" ${status}`
  if (findings.length === 0) return [head]
  return findings.map((finding) => `${head}: ${formatFinding(finding)}`)
}

function formatFinding({ rule, file, line, column, message }: v2.PolicyFinding): string {
  const parts = [
    rule === null ? '' : `rule ${rule}`,
    file ?? '',
    line === null ? '' : `line ${line}`,
    column === null ? '' : `column ${column}`,
  ].filter((part) => part !== '')
  return parts.length === 0 ? message : `${parts.join(', ')}: ${message}`
}
