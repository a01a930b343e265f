import type { Node } from '@reeve/contract'
import { compileRegex } from '@reeve/kit/regex.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  compareSegments,
  compareVersions,
  parseVersion,
  haveEqualSegments,
  type Version,
} from '@reeve/kit/version.ts'
import { LIMITS } from '../limits.ts'

/**
 * Tests whether the two sides of a constraint satisfy its operand; undefined means that the node
 * has no such value.
 */
type OperandTest = (left: string | undefined, right: string | undefined) => boolean

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

/** Node properties that constraints can reference. */
export type NodeProperties = Pick<
  Node,
  'ID' | 'Name' | 'Datacenter' | 'NodeClass' | 'NodePool' | 'Attributes' | 'Meta'
>

/** Returns the value of a target on a node; undefined if the node has none. */
type TargetReader = (node: NodeProperties) => string | undefined

const NODE_FIELDS: Readonly<Record<string, TargetReader>> = {
  'node.unique.id': (node) => node.ID,
  'node.unique.name': (node) => node.Name,
  'node.datacenter': (node) => node.Datacenter,
  'node.class': (node) => node.NodeClass,
  'node.pool': (node) => node.NodePool,
}

/**
 * Compiles a target. Text without a `${` prefix is literal; known references are read from the
 * node; unknown references have no value.
 */
export function targetReader(target: string): TargetReader {
  if (!target.startsWith('${')) return () => target
  const name = referenceName(target)
  if (name === undefined) return () => undefined
  const attribute = keyAfter('attr.', name)
  if (attribute !== undefined) return (node) => findOwn(node.Attributes, attribute)
  const meta = keyAfter('meta.', name)
  if (meta !== undefined) return (node) => findOwn(node.Meta, meta)
  return findOwn(NODE_FIELDS, name) ?? (() => undefined)
}

/** Reports whether a reference can be read from a node. */
export function isNodeTarget(target: string): boolean {
  const name = referenceName(target)
  if (name === undefined) return false
  return hasKey('attr.', name) || hasKey('meta.', name) || Object.hasOwn(NODE_FIELDS, name)
}

/** Reports whether the constraints of a device request may reference the target. */
export function isDeviceTarget(target: string): boolean {
  const name = referenceName(target)
  if (name === undefined) return false
  return hasKey('device.attr.', name) || /^device\.(vendor|type|model|ids)$/.test(name)
}

/**
 * Reports whether nodes of one class may differ in the target: constraints with it cannot be
 * checked by class.
 */
export function isUniqueTarget(target: string): boolean {
  const name = referenceName(target)
  return name !== undefined && /^(?:node|attr|meta)\.unique\./.test(name)
}

function referenceName(target: string): string | undefined {
  return target.startsWith('${') && target.endsWith('}') ? target.slice(2, -1).trim() : undefined
}

function hasKey(prefix: string, name: string): boolean {
  return keyAfter(prefix, name) !== undefined
}

function keyAfter(prefix: string, name: string): string | undefined {
  return name.startsWith(prefix) && name.length > prefix.length
    ? name.slice(prefix.length)
    : undefined
}

/**
 * Looks up a name given by a job, which must not find inherited properties such as `constructor`.
 */
function findOwn<T>(map: Readonly<Record<string, T>> | null, key: string): T | undefined {
  return map !== null && Object.hasOwn(map, key) ? map[key] : undefined
}

/**
 * Version syntax of a constraint. `loose` accepts the output of package managers (`v1.2`,
 * `5.10.0-28-amd64`, `1.2rc1`); `strict` is Semantic Versioning.
 */
export type VersionKind = 'loose' | 'strict'

const SYNTAX = { loose: 'loose', strict: 'short' } as const

type VersionTest = (version: Version) => boolean

export function parseConstraintVersion(text: string, kind: VersionKind): Version | undefined {
  return parseVersion(text, SYNTAX[kind])
}

/** Parses a version constraint. Every comma-separated part must be satisfied. */
export function parseVersionConstraint(
  text: string,
  kind: VersionKind,
): Result<VersionTest, string> {
  const tests: VersionTest[] = []
  for (const part of text.split(',')) {
    const test = parseComparison(part.trim(), kind)
    if (test === undefined) return err(`malformed constraint: ${part.trim()}`)
    tests.push(test)
  }
  return ok((version) => tests.every((test) => test(version)))
}

function parseComparison(part: string, kind: VersionKind): VersionTest | undefined {
  const operator = /^(?:~>|!=|>=|<=|=|>|<)/.exec(part)?.[0] ?? ''
  const bound = parseConstraintVersion(part.slice(operator.length).trim(), kind)
  if (bound === undefined || (operator === '~>' && kind === 'strict')) return undefined
  const matches = kind === 'strict' ? strictTests[operator] : looseTests[operator]
  return matches === undefined ? undefined : (version) => matches(version, bound)
}

type Comparison = (version: Version, bound: Version) => boolean

const strictTests: Readonly<Record<string, Comparison>> = {
  '': (version, bound) => compareVersions(version, bound) === 0,
  '=': (version, bound) => compareVersions(version, bound) === 0,
  '!=': (version, bound) => compareVersions(version, bound) !== 0,
  '>': (version, bound) => compareVersions(version, bound) > 0,
  '<': (version, bound) => compareVersions(version, bound) < 0,
  '>=': (version, bound) => compareVersions(version, bound) >= 0,
  '<=': (version, bound) => compareVersions(version, bound) <= 0,
}

const looseTests: Readonly<Record<string, Comparison>> = {
  ...strictTests,
  '>': (version, bound) => acceptsPrerelease(bound, version) && compareVersions(version, bound) > 0,
  '<': (version, bound) => acceptsPrerelease(bound, version) && compareVersions(version, bound) < 0,
  '>=': (version, bound) =>
    acceptsPrerelease(bound, version) && compareVersions(version, bound) >= 0,
  '<=': (version, bound) =>
    acceptsPrerelease(bound, version) && compareVersions(version, bound) <= 0,
  '~>': isPessimisticMatch,
}

/** A pre-release satisfies only bounds that are pre-releases of the same version. */
function acceptsPrerelease(bound: Version, version: Version): boolean {
  if (version.prerelease.length === 0) return true
  return bound.prerelease.length > 0 && compareSegments(version, bound) === 0
}

/** Implements `~> 1.2.3`: at least this version, and equal in all but the last given segment. */
function isPessimisticMatch(version: Version, bound: Version): boolean {
  if (!acceptsPrerelease(bound, version)) return false
  if (bound.prerelease.length > 0 && version.prerelease.length === 0) return false
  if (compareVersions(version, bound) < 0) return false
  return haveEqualSegments(version, bound, bound.segmentsGiven - 1)
}

/** Maximum length of a regular expression in a job. */
const PATTERN_LENGTH_MAX = 4_096

const PATTERN_LIMITS = { lengthMax: PATTERN_LENGTH_MAX, sizeMax: LIMITS.patternInstructionsMax }

/** Returns an unanchored linear-time matcher, or why the expression cannot be used. */
export function compilePattern(text: string): Result<(value: string) => boolean, string> {
  const compiled = compileRegex(text, PATTERN_LIMITS)
  if (!compiled.ok) {
    const { kind, message } = compiled.error
    return err(kind === 'invalid' ? message : `it is ${message}`)
  }
  const { regex } = compiled.value
  return ok((value) => regex.matcher(value).find())
}
