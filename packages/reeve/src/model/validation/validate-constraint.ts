import { CONSTRAINT_OPERANDS, type Affinity, type Constraint, type Spread } from '@reeve/contract'
import { isDeviceTarget, isNodeTarget } from '../constraint/target.ts'
import { LIMITS } from '../limits.ts'
import { compilePattern } from '../constraint/pattern.ts'
import { parseVersionConstraint, type VersionKind } from '../constraint/version.ts'
import { allOf, each, finding, nest, quote, when, type Finding } from './finding.ts'

type IsTarget = (target: string) => boolean

export function checkConstraints(
  constraints: readonly Constraint[] | null,
  path: string,
  isTarget: IsTarget = isNodeTarget,
): readonly Finding[] {
  return each(constraints, path, (constraint, at, index) =>
    nest(
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
): readonly Finding[] {
  return allOf(
    checkConstraints(constraints, path),
    each(constraints, path, ({ Operand: operand }, at, index) =>
      when(
        operand.startsWith('distinct_') &&
          finding(
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
): readonly Finding[] {
  return checkConstraints(constraints, path, isDeviceTarget)
}

export function checkAffinities(
  affinities: readonly Affinity[] | null,
  path: string,
  isTarget: IsTarget = isNodeTarget,
): readonly Finding[] {
  return each(affinities, path, (affinity, at, index) =>
    nest(
      at,
      `Affinity ${index + 1} validation failed`,
      allOf(
        checkAffinityOperand(affinity, at),
        checkSides(affinity, at, isTarget),
        checkAffinityWeight(affinity.Weight, `${at}.Weight`),
      ),
    ),
  )
}

export function checkDeviceAffinities(
  affinities: readonly Affinity[] | null,
  path: string,
): readonly Finding[] {
  return checkAffinities(affinities, path, isDeviceTarget)
}

function checkConstraint(
  constraint: Constraint,
  path: string,
  isTarget: IsTarget,
): readonly Finding[] {
  const { Operand: operand } = constraint
  if (operand === '') return [finding(`${path}.Operand`, 'Missing constraint operand')]
  if (!CONSTRAINT_OPERANDS.some((known) => known === operand))
    return [finding(`${path}.Operand`, `Unknown constraint type ${quote(operand)}`)]
  return checkSides(constraint, path, isTarget)
}

function checkAffinityOperand({ Operand: operand }: Affinity, path: string): readonly Finding[] {
  if (operand === '') return [finding(`${path}.Operand`, 'Missing affinity operand')]
  const known = CONSTRAINT_OPERANDS.some((name) => name === operand)
  const counts = operand.startsWith('distinct_') || operand.startsWith('is_')
  return when(
    (!known || counts) && finding(`${path}.Operand`, `Unknown affinity operator ${quote(operand)}`),
  )
}

function checkAffinityWeight(weight: number, path: string): readonly Finding[] {
  return allOf(
    when(weight === 0 && finding(path, 'Affinity weight cannot be zero')),
    when(
      Math.abs(weight) > 100 &&
        finding(path, 'Affinity weight must be within the range [-100,100]'),
    ),
  )
}

/** Validates the operands of a constraint. */
function checkSides(
  { LTarget: left, RTarget: right, Operand: operand }: Constraint,
  path: string,
  isTarget: IsTarget,
): readonly Finding[] {
  return allOf(
    checkRight(operand, right).map((message) => finding(`${path}.RTarget`, message)),
    when(
      left === '' &&
        operand !== 'distinct_hosts' &&
        finding(`${path}.LTarget`, 'No LTarget provided but is required by constraint'),
    ),
    when(
      left.startsWith('${') &&
        !isTarget(left) &&
        finding(`${path}.LTarget`, `LTarget ${quote(left)} is not a property that can be compared`),
    ),
    when(
      left !== '' &&
        operand !== 'distinct_hosts' &&
        ![left, right].some((side) => side.startsWith('${')) &&
        finding(`${path}.LTarget`, plainText(left, isTarget)),
    ),
  )
}

/** Rejects a constraint between two literals: one side was probably meant as a reference. */
function plainText(left: string, isTarget: IsTarget): string {
  const reference = (prefix: string): string => `\${${prefix}${left}}`
  const bare = reference('')
  const prefixes = ['attr.', 'meta.', 'device.', 'device.attr.']
  const meant = isTarget(bare) ? [bare] : prefixes.map(reference).filter(isTarget)
  return `LTarget ${quote(left)} is plain text; write ${meant.map(quote).join(' or ')}`
}

function checkRight(operand: string, right: string): readonly string[] {
  // It is split again for every node that is checked.
  if (right.length > LIMITS.constraintCharsMax)
    return [`RTarget is longer than ${LIMITS.constraintCharsMax} characters`]
  // A reference is resolved on each node, so its value cannot be checked here.
  const known = right.startsWith('${') ? undefined : right
  switch (operand) {
    case 'distinct_hosts':
      return isFlag(right) ? [] : [`Failed to parse RTarget ${quote(right)} as a bool`]
    case 'distinct_property':
      return checkAllowedCount(right)
    case 'is_set':
    case 'is_not_set':
      return right === '' ? [] : [`Operator ${quote(operand)} does not support an RTarget`]
    case 'set_contains':
    case 'set_contains_all':
    case 'set_contains_any':
      return right === '' ? ['Set contains constraint requires an RTarget'] : []
    case 'regexp':
      return known === undefined ? [] : checkPattern(known)
    case 'version':
      return known === undefined ? [] : checkVersions(known, 'loose')
    case 'semver':
      return known === undefined ? [] : checkVersions(known, 'strict')
    default:
      return right === '' ? [`Operator ${quote(operand)} requires an RTarget`] : []
  }
}

/** Reports whether a text is a boolean; an empty one is true for `distinct_hosts`. */
function isFlag(text: string): boolean {
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

function checkAllowedCount(right: string): readonly string[] {
  if (right === '') return []
  if (!/^\d{1,15}$/.test(right)) return [`Failed to convert RTarget ${quote(right)} to a count`]
  if (Number(right) >= 1) return []
  return [`Distinct Property must have an allowed count of 1 or greater; got ${Number(right)} < 1`]
}

function checkPattern(text: string): readonly string[] {
  const pattern = compilePattern(text)
  return pattern.ok ? [] : [`Regular expression failed to compile: ${pattern.error}`]
}

function checkVersions(text: string, kind: VersionKind): readonly string[] {
  const constraint = parseVersionConstraint(text, kind)
  if (constraint.ok) return []
  const name = kind === 'loose' ? 'Version' : 'Semver'
  return [`${name} constraint is invalid: ${constraint.error}`]
}

export function checkSpreads(spreads: readonly Spread[] | null, path: string): readonly Finding[] {
  return each(spreads, path, (spread, at, index) =>
    nest(at, `Spread ${index + 1} validation failed`, checkSpread(spread, at)),
  )
}

function checkSpread(spread: Spread, path: string): readonly Finding[] {
  const seen = new Set<string>()
  const sum = (spread.SpreadTarget ?? []).reduce((total, target) => total + target.Percent, 0)
  return allOf(
    when(spread.Attribute === '' && finding(`${path}.Attribute`, 'Missing spread attribute')),
    when(
      spread.Attribute !== '' &&
        !isNodeTarget(spread.Attribute) &&
        finding(
          `${path}.Attribute`,
          `Spread attribute ${quote(spread.Attribute)} is not a property of nodes`,
        ),
    ),
    when(
      (spread.Weight <= 0 || spread.Weight > 100) &&
        finding(`${path}.Weight`, 'Spread block must have a positive weight from 1 to 100'),
    ),
    each(spread.SpreadTarget, `${path}.SpreadTarget`, ({ Value: value, Percent: share }, at) => {
      const again = seen.has(value)
      seen.add(value)
      return allOf(
        when(
          again && finding(`${at}.Value`, `Spread target value ${quote(value)} already defined`),
        ),
        when(
          (share < 0 || share > 100) &&
            finding(
              `${at}.Percent`,
              `Spread target percentage for value ${quote(value)} must be between 0 and 100`,
            ),
        ),
      )
    }),
    when(
      sum > 100 &&
        finding(
          `${path}.SpreadTarget`,
          `Sum of spread target percentages must not be greater than 100%; got ${sum}%`,
        ),
    ),
  )
}
