import { compilePattern } from './pattern.ts'
import { parseVersionConstraint, parseConstraintVersion, type VersionKind } from './version.ts'

/**
 * Tests whether the two sides of a constraint satisfy its operand; undefined means that the node
 * has no such value.
 */
export type OperandTest = (left: string | undefined, right: string | undefined) => boolean

/**
 * Returns the test of an operand. `distinct_hosts` and `distinct_property` are not included: they
 * depend on other allocations. An unknown operand is never satisfied.
 */
export function operandTest(operand: string): OperandTest {
  const factory = Object.hasOwn(OPERANDS, operand) ? OPERANDS[operand] : undefined
  return factory?.() ?? (() => false)
}

const equal: OperandTest = (left, right) => left !== undefined && left === right
const notEqual: OperandTest = (left, right) => left !== right

const OPERANDS: Readonly<Record<string, () => OperandTest>> = {
  '=': () => equal,
  '==': () => equal,
  is: () => equal,
  '!=': () => notEqual,
  not: () => notEqual,
  '<': () => comparison((sign) => sign < 0),
  '<=': () => comparison((sign) => sign <= 0),
  '>': () => comparison((sign) => sign > 0),
  '>=': () => comparison((sign) => sign >= 0),
  regexp: () => cachedTest(compileRegexp),
  version: () => cachedTest((text) => compileVersion(text, 'loose')),
  semver: () => cachedTest((text) => compileVersion(text, 'strict')),
  set_contains: () => cachedTest(containsAll),
  set_contains_all: () => cachedTest(containsAll),
  set_contains_any: () => cachedTest(containsAny),
  is_set: () => (left) => left !== undefined,
  is_not_set: () => (left) => left === undefined,
}

function comparison(accepts: (sign: number) => boolean): OperandTest {
  return (left, right) =>
    left !== undefined && right !== undefined && accepts(compareValues(left, right))
}

/** Compares as integers if both are, else as numbers, else as text. */
function compareValues(left: string, right: string): number {
  const integers = compareAs(toInteger, left, right)
  if (integers !== undefined) return integers
  return compareAs(toFloat, left, right) ?? compare(left, right)
}

function compareAs(
  parse: (text: string) => bigint | number | undefined,
  left: string,
  right: string,
): number | undefined {
  const [a, b] = [parse(left), parse(right)]
  return a === undefined || b === undefined ? undefined : compare(a, b)
}

function compare<T extends bigint | number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * Parses up to 18 digits, so that the value fits into 64 bits; longer ones are compared as numbers.
 */
function toInteger(text: string): bigint | undefined {
  return /^[+-]?\d{1,18}$/.test(text) ? BigInt(text.replace('+', '')) : undefined
}

function toFloat(text: string): number | undefined {
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : undefined
}

/**
 * Caches the compiled right side, which is mostly the same for every node. A right side that cannot
 * be compiled (it may come from the node) matches nothing.
 */
function cachedTest(
  compile: (right: string) => ((left: string) => boolean) | undefined,
): OperandTest {
  let lastRight: string | undefined
  let test: ((left: string) => boolean) | undefined
  return (left, right) => {
    if (left === undefined || right === undefined) return false
    if (right !== lastRight) {
      test = compile(right)
      lastRight = right
    }
    return test?.(left) ?? false
  }
}

function compileRegexp(text: string): ((left: string) => boolean) | undefined {
  const pattern = compilePattern(text)
  return pattern.ok ? pattern.value : undefined
}

function compileVersion(text: string, kind: VersionKind): ((left: string) => boolean) | undefined {
  const constraint = parseVersionConstraint(text, kind)
  if (!constraint.ok) return undefined
  return (left) => {
    const version = parseConstraintVersion(left, kind)
    return version !== undefined && constraint.value(version)
  }
}

function containsAll(right: string): (left: string) => boolean {
  const required = splitItems(right)
  return (left) => {
    const present = new Set(splitItems(left))
    return required.every((item) => present.has(item))
  }
}

function containsAny(right: string): (left: string) => boolean {
  const accepted = new Set(splitItems(right))
  return (left) => splitItems(left).some((item) => accepted.has(item))
}

function splitItems(list: string): readonly string[] {
  return list.split(',').map((item) => item.trim())
}
