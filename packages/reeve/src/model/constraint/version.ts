import { err, ok, type Result } from '@reeve/kit/result.ts'

/**
 * Versions and what constraints ask of them. `loose` reads what package managers print (`v1.2`,
 * `5.10.0-28-amd64`, `1.2rc1`); `strict` is Semantic Versioning.
 */
export type VersionKind = 'loose' | 'strict'

export interface Version {
  /** At least three; the ones not given are 0. */
  readonly segments: readonly number[]
  readonly segmentsGiven: number
  /** Identifiers of the pre-release; none when it is a release. */
  readonly prerelease: readonly string[]
}

export type VersionTest = (version: Version) => boolean

const SEGMENTS_MAX = 16
/** More digits than this would not be exact as a number. */
const DIGITS_MAX = 15

export function parseVersion(text: string, kind: VersionKind): Version | undefined {
  const body = text.startsWith('v') ? text.slice(1) : text
  const [main = '', ...metadata] = body.split('+')
  if (metadata.length > 1 || metadata.some((part) => !isDotted(part))) return undefined
  const numbers = /^\d+(?:\.\d+)*/.exec(main)?.[0]
  if (numbers === undefined) return undefined
  const prerelease = readPrerelease(main.slice(numbers.length), kind)
  if (prerelease === undefined) return undefined
  const digits = numbers.split('.')
  if (digits.length > (kind === 'strict' ? 3 : SEGMENTS_MAX)) return undefined
  if (digits.some((part) => part.length > DIGITS_MAX)) return undefined
  const segments = digits.map(Number)
  while (segments.length < 3) segments.push(0)
  return { segments, segmentsGiven: digits.length, prerelease }
}

/** What follows the numbers: nothing, `-identifiers`, or in loose versions letters at once. */
function readPrerelease(rest: string, kind: VersionKind): readonly string[] | undefined {
  if (rest === '') return []
  const text = rest.startsWith('-') ? rest.slice(1) : rest
  if (!rest.startsWith('-') && (kind === 'strict' || !/^[A-Za-z~]/.test(rest))) return undefined
  return isDotted(text) ? text.split('.') : undefined
}

function isDotted(text: string): boolean {
  return /^[0-9A-Za-z~-]+(?:\.[0-9A-Za-z~-]+)*$/.test(text)
}

/** Every comma-separated part must hold. */
export function parseVersionConstraint(
  text: string,
  kind: VersionKind,
): Result<VersionTest, string> {
  const tests: VersionTest[] = []
  for (const part of text.split(',')) {
    const test = parsePart(part.trim(), kind)
    if (test === undefined) return err(`malformed constraint: ${part.trim()}`)
    tests.push(test)
  }
  return ok((version) => tests.every((test) => test(version)))
}

function parsePart(part: string, kind: VersionKind): VersionTest | undefined {
  const operator = /^(?:~>|!=|>=|<=|=|>|<)/.exec(part)?.[0] ?? ''
  const bound = parseVersion(part.slice(operator.length).trim(), kind)
  if (bound === undefined || (operator === '~>' && kind === 'strict')) return undefined
  const compare = kind === 'strict' ? strictTests[operator] : looseTests[operator]
  return compare === undefined ? undefined : (version) => compare(version, bound)
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
  '>': (version, bound) => admits(bound, version) && compareVersions(version, bound) > 0,
  '<': (version, bound) => admits(bound, version) && compareVersions(version, bound) < 0,
  '>=': (version, bound) => admits(bound, version) && compareVersions(version, bound) >= 0,
  '<=': (version, bound) => admits(bound, version) && compareVersions(version, bound) <= 0,
  '~>': isWithin,
}

/** A pre-release meets only bounds that are pre-releases of the same version themselves. */
function admits(bound: Version, version: Version): boolean {
  if (version.prerelease.length === 0) return true
  return bound.prerelease.length > 0 && compareSegments(version, bound) === 0
}

/** `~> 1.2.3`: at least that, and equal in all but the last segment given. */
function isWithin(version: Version, bound: Version): boolean {
  if (!admits(bound, version)) return false
  if (bound.prerelease.length > 0 && version.prerelease.length === 0) return false
  if (compareVersions(version, bound) < 0) return false
  return bound.segments
    .slice(0, bound.segmentsGiven - 1)
    .every((segment, i) => segment === version.segments[i])
}

function compareVersions(a: Version, b: Version): number {
  return compareSegments(a, b) || comparePrereleases(a.prerelease, b.prerelease)
}

function compareSegments(a: Version, b: Version): number {
  const length = Math.max(a.segments.length, b.segments.length)
  for (let i = 0; i < length; i++) {
    const order = (a.segments[i] ?? 0) - (b.segments[i] ?? 0)
    if (order !== 0) return Math.sign(order)
  }
  return 0
}

/**
 * Semantic Versioning §11: a release is higher than its pre-releases; fewer identifiers are lower.
 */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return Math.sign(b.length - a.length)
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const order = compareIdentifiers(a[i], b[i])
    if (order !== 0) return order
  }
  return 0
}

function compareIdentifiers(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1
  const [aIsNumber, bIsNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (aIsNumber && bIsNumber) return compareDigits(a, b)
  if (aIsNumber !== bIsNumber) return aIsNumber ? -1 : 1
  return a < b ? -1 : a > b ? 1 : 0
}

/** By length first, so that any number of digits is exact. */
function compareDigits(a: string, b: string): number {
  const [left, right] = [a.replace(/^0+(?=\d)/, ''), b.replace(/^0+(?=\d)/, '')]
  if (left.length !== right.length) return left.length < right.length ? -1 : 1
  return left < right ? -1 : left > right ? 1 : 0
}
