import { compilePattern } from './pattern.ts'
import { parseVersionConstraint, readVersion, type VersionKind } from './version.ts'

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
  const make = Object.hasOwn(OPERANDS, operand) ? OPERANDS[operand] : undefined
  return make?.() ?? (() => false)
}

const equal: OperandTest = (left, right) => left !== undefined && left === right
const differs: OperandTest = (left, right) => left !== right

const OPERANDS: Readonly<Record<string, () => OperandTest>> = {
  '=': () => equal,
  '==': () => equal,
  is: () => equal,
  '!=': () => differs,
  not: () => differs,
  '<': () => ordered((sign) => sign < 0),
  '<=': () => ordered((sign) => sign <= 0),
  '>': () => ordered((sign) => sign > 0),
  '>=': () => ordered((sign) => sign >= 0),
  regexp: () => compiled(compileRegexp),
  version: () => compiled((text) => compileVersion(text, 'loose')),
  semver: () => compiled((text) => compileVersion(text, 'strict')),
  set_contains: () => compiled(containsAll),
  set_contains_all: () => compiled(containsAll),
  set_contains_any: () => compiled(containsAny),
  is_set: () => (left) => left !== undefined,
  is_not_set: () => (left) => left === undefined,
}

function ordered(accepts: (sign: number) => boolean): OperandTest {
  return (left, right) =>
    left !== undefined && right !== undefined && accepts(compareValues(left, right))
}

/** Compares as integers if both are, else as numbers, else as text. */
function compareValues(left: string, right: string): number {
  const integers = bothAs(toInteger, left, right)
  if (integers !== undefined) return integers
  return bothAs(toFloat, left, right) ?? compare(left, right)
}

function bothAs(
  read: (text: string) => bigint | number | undefined,
  left: string,
  right: string,
): number | undefined {
  const [a, b] = [read(left), read(right)]
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
function compiled(
  compile: (right: string) => ((left: string) => boolean) | undefined,
): OperandTest {
  let last: string | undefined
  let test: ((left: string) => boolean) | undefined
  return (left, right) => {
    if (left === undefined || right === undefined) return false
    if (right !== last) {
      test = compile(right)
      last = right
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
    const version = readVersion(left, kind)
    return version !== undefined && constraint.value(version)
  }
}

function containsAll(right: string): (left: string) => boolean {
  const wanted = items(right)
  return (left) => {
    const held = new Set(items(left))
    return wanted.every((item) => held.has(item))
  }
}

function containsAny(right: string): (left: string) => boolean {
  const wanted = new Set(items(right))
  return (left) => items(left).some((item) => wanted.has(item))
}

function items(list: string): readonly string[] {
  return list.split(',').map((item) => item.trim())
}
