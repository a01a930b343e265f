import { CONSTRAINT_OPERANDS, type Affinity, type Constraint, type Spread } from '@reeve/contract'
import {
  compilePattern,
  isDeviceTarget,
  isNodeTarget,
  parseVersionConstraint,
  type VersionKind,
} from '../constraint/constraint.ts'
import { LIMITS } from '../limits.ts'
import {
  concatIssues,
  forEachEntry,
  issue,
  nestIssues,
  quote,
  issueIf,
  type ValidationIssue,
} from './validation-issue.ts'

type TargetPredicate = (target: string) => boolean

export function checkConstraints(
  constraints: readonly Constraint[] | null,
  path: string,
  isTarget: TargetPredicate = isNodeTarget,
): readonly ValidationIssue[] {
  return forEachEntry(constraints, path, (constraint, at, index) =>
    nestIssues(
      at,
      `Constraint ${index + 1} validation failed`,
      checkConstraint(constraint, at, isTarget),
    ),
  )
}

/**
 * Validates the constraints of a task. Operands that count other allocations are not allowed on one
 * task.
 */
export function checkTaskConstraints(
  constraints: readonly Constraint[] | null,
  path: string,
): readonly ValidationIssue[] {
  return concatIssues(
    checkConstraints(constraints, path),
    forEachEntry(constraints, path, ({ Operand: operand }, at, index) =>
      issueIf(
        operand.startsWith('distinct_') &&
          issue(
            `${at}.Operand`,
            `Constraint ${index + 1} has disallowed Operand at task level: ${operand}`,
          ),
      ),
    ),
  )
}

export function checkDeviceConstraints(
  constraints: readonly Constraint[] | null,
  path: string,
): readonly ValidationIssue[] {
  return checkConstraints(constraints, path, isDeviceTarget)
}

export function checkAffinities(
  affinities: readonly Affinity[] | null,
  path: string,
  isTarget: TargetPredicate = isNodeTarget,
): readonly ValidationIssue[] {
  return forEachEntry(affinities, path, (affinity, at, index) =>
    nestIssues(
      at,
      `Affinity ${index + 1} validation failed`,
      concatIssues(
        checkAffinityOperand(affinity, at),
        checkOperands(affinity, at, isTarget),
        checkAffinityWeight(affinity.Weight, `${at}.Weight`),
      ),
    ),
  )
}

export function checkDeviceAffinities(
  affinities: readonly Affinity[] | null,
  path: string,
): readonly ValidationIssue[] {
  return checkAffinities(affinities, path, isDeviceTarget)
}

function checkConstraint(
  constraint: Constraint,
  path: string,
  isTarget: TargetPredicate,
): readonly ValidationIssue[] {
  const { Operand: operand } = constraint
  if (operand === '') return [issue(`${path}.Operand`, 'Missing constraint operand')]
  if (!CONSTRAINT_OPERANDS.some((known) => known === operand))
    return [issue(`${path}.Operand`, `Unknown constraint type ${quote(operand)}`)]
  return checkOperands(constraint, path, isTarget)
}

function checkAffinityOperand(
  { Operand: operand }: Affinity,
  path: string,
): readonly ValidationIssue[] {
  if (operand === '') return [issue(`${path}.Operand`, 'Missing affinity operand')]
  const isKnown = CONSTRAINT_OPERANDS.some((name) => name === operand)
  const dependsOnAllocations = operand.startsWith('distinct_') || operand.startsWith('is_')
  return issueIf(
    (!isKnown || dependsOnAllocations) &&
      issue(`${path}.Operand`, `Unknown affinity operator ${quote(operand)}`),
  )
}

function checkAffinityWeight(weight: number, path: string): readonly ValidationIssue[] {
  return concatIssues(
    issueIf(weight === 0 && issue(path, 'Affinity weight cannot be zero')),
    issueIf(
      Math.abs(weight) > 100 && issue(path, 'Affinity weight must be within the range [-100,100]'),
    ),
  )
}

/** Validates the operands of a constraint. */
function checkOperands(
  { LTarget: left, RTarget: right, Operand: operand }: Constraint,
  path: string,
  isTarget: TargetPredicate,
): readonly ValidationIssue[] {
  return concatIssues(
    rightOperandProblems(operand, right).map((message) => issue(`${path}.RTarget`, message)),
    issueIf(
      left === '' &&
        operand !== 'distinct_hosts' &&
        issue(`${path}.LTarget`, 'No LTarget provided but is required by constraint'),
    ),
    issueIf(
      left.startsWith('${') &&
        !isTarget(left) &&
        issue(`${path}.LTarget`, `LTarget ${quote(left)} is not a property that can be compared`),
    ),
    issueIf(
      left !== '' &&
        operand !== 'distinct_hosts' &&
        ![left, right].some((side) => side.startsWith('${')) &&
        issue(`${path}.LTarget`, plainTextProblem(left, isTarget)),
    ),
  )
}

/** Rejects a constraint between two literals: one side was probably meant as a reference. */
function plainTextProblem(left: string, isTarget: TargetPredicate): string {
  const reference = (prefix: string): string => `\${${prefix}${left}}`
  const bare = reference('')
  const prefixes = ['attr.', 'meta.', 'device.', 'device.attr.']
  const suggestions = isTarget(bare) ? [bare] : prefixes.map(reference).filter(isTarget)
  return `LTarget ${quote(left)} is plain text; write ${suggestions.map(quote).join(' or ')}`
}

function rightOperandProblems(operand: string, right: string): readonly string[] {
  // Limited, because it is split for every node that is checked.
  if (right.length > LIMITS.constraintCharsMax)
    return [`RTarget is longer than ${LIMITS.constraintCharsMax} characters`]
  // A reference is resolved on each node, so its value cannot be checked here.
  const literal = right.startsWith('${') ? undefined : right
  switch (operand) {
    case 'distinct_hosts':
      return isBooleanText(right) ? [] : [`Failed to parse RTarget ${quote(right)} as a bool`]
    case 'distinct_property':
      return allowedCountProblems(right)
    case 'is_set':
    case 'is_not_set':
      return right === '' ? [] : [`Operator ${quote(operand)} does not support an RTarget`]
    case 'set_contains':
    case 'set_contains_all':
    case 'set_contains_any':
      return right === '' ? ['Set contains constraint requires an RTarget'] : []
    case 'regexp':
      return literal === undefined ? [] : patternProblems(literal)
    case 'version':
      return literal === undefined ? [] : versionProblems(literal, 'loose')
    case 'semver':
      return literal === undefined ? [] : versionProblems(literal, 'strict')
    default:
      return right === '' ? [`Operator ${quote(operand)} requires an RTarget`] : []
  }
}

/** Reports whether a text is a boolean; an empty one is true for `distinct_hosts`. */
function isBooleanText(text: string): boolean {
  return [
    '',
    '1',
    't',
    'T',
    'TRUE',
    'true',
    'True',
    '0',
    'f',
    'F',
    'FALSE',
    'false',
    'False',
  ].includes(text)
}

function allowedCountProblems(right: string): readonly string[] {
  if (right === '') return []
  if (!/^\d{1,15}$/.test(right)) return [`Failed to convert RTarget ${quote(right)} to a count`]
  if (Number(right) >= 1) return []
  return [`Distinct Property must have an allowed count of 1 or greater; got ${Number(right)} < 1`]
}

function patternProblems(text: string): readonly string[] {
  const pattern = compilePattern(text)
  return pattern.ok ? [] : [`Regular expression failed to compile: ${pattern.error}`]
}

function versionProblems(text: string, kind: VersionKind): readonly string[] {
  const constraint = parseVersionConstraint(text, kind)
  if (constraint.ok) return []
  const name = kind === 'loose' ? 'Version' : 'Semver'
  return [`${name} constraint is invalid: ${constraint.error}`]
}

export function checkSpreads(
  spreads: readonly Spread[] | null,
  path: string,
): readonly ValidationIssue[] {
  return forEachEntry(spreads, path, (spread, at, index) =>
    nestIssues(at, `Spread ${index + 1} validation failed`, checkSpread(spread, at)),
  )
}

function checkSpread(spread: Spread, path: string): readonly ValidationIssue[] {
  const seenValues = new Set<string>()
  const sum = (spread.SpreadTarget ?? []).reduce((total, target) => total + target.Percent, 0)
  return concatIssues(
    issueIf(spread.Attribute === '' && issue(`${path}.Attribute`, 'Missing spread attribute')),
    issueIf(
      spread.Attribute !== '' &&
        !isNodeTarget(spread.Attribute) &&
        issue(
          `${path}.Attribute`,
          `Spread attribute ${quote(spread.Attribute)} is not a property of nodes`,
        ),
    ),
    issueIf(
      (spread.Weight <= 0 || spread.Weight > 100) &&
        issue(`${path}.Weight`, 'Spread block must have a positive weight from 1 to 100'),
    ),
    forEachEntry(
      spread.SpreadTarget,
      `${path}.SpreadTarget`,
      ({ Value: value, Percent: share }, at) => {
        const isDuplicate = seenValues.has(value)
        seenValues.add(value)
        return concatIssues(
          issueIf(
            isDuplicate &&
              issue(`${at}.Value`, `Spread target value ${quote(value)} already defined`),
          ),
          issueIf(
            (share < 0 || share > 100) &&
              issue(
                `${at}.Percent`,
                `Spread target percentage for value ${quote(value)} must be between 0 and 100`,
              ),
          ),
        )
      },
    ),
    issueIf(
      sum > 100 &&
        issue(
          `${path}.SpreadTarget`,
          `Sum of spread target percentages must not be greater than 100%; got ${sum}%`,
        ),
    ),
  )
}
