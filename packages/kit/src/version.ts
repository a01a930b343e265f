/**
 * Version syntaxes. `semver` is strict Semantic Versioning with an optional `v`; `short` allows
 * missing numbers; `lenient` also does not check the identifiers of pre-releases and metadata;
 * `loose` accepts versions of package managers (`v1.2`, `5.10.0-28-amd64`, `1.2rc1`).
 */
export type VersionSyntax = 'semver' | 'short' | 'lenient' | 'loose'

export interface Version {
  /** At least three; missing segments are 0. A bigint where a number would not be exact. */
  readonly segments: readonly (number | bigint)[]
  readonly segmentsGiven: number
  /** Identifiers of the pre-release; empty for a release. */
  readonly prerelease: readonly string[]
  /** The part after `+`. */
  readonly metadata: string
}

interface Rules {
  readonly segmentsMin: number
  readonly segmentsMax: number
  readonly segment: RegExp
  /** Allowed identifiers of pre-releases and metadata, without their `-` and `+`. */
  readonly identifiers: RegExp
  /** Numeric pre-release identifiers must not have leading zeros. */
  readonly isCanonical?: boolean
  /** A pre-release that starts with a letter may omit the `-`. */
  readonly isDashOptional?: boolean
}

/** Longer segments would not be exact as numbers. */
const DIGITS = /^[0-9]{1,15}$/
const DOTTED = /^[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*$/
const DOTTED_WITH_TILDE = /^[0-9A-Za-z~-]+(?:\.[0-9A-Za-z~-]+)*$/

const RULES: Readonly<Record<VersionSyntax, Rules>> = {
  semver: {
    segmentsMin: 3,
    segmentsMax: 3,
    segment: /^(?:0|[1-9][0-9]{0,18})$/,
    identifiers: DOTTED,
    isCanonical: true,
  },
  short: { segmentsMin: 1, segmentsMax: 3, segment: DIGITS, identifiers: DOTTED_WITH_TILDE },
  lenient: {
    segmentsMin: 1,
    segmentsMax: 3,
    segment: /^[0-9]{1,9}$/,
    identifiers: /^[0-9A-Za-z.-]+$/,
  },
  loose: {
    segmentsMin: 1,
    segmentsMax: 16,
    segment: DIGITS,
    identifiers: DOTTED_WITH_TILDE,
    isDashOptional: true,
  },
}

const INT64_MAX = 2n ** 63n - 1n

export function parseVersion(text: string, syntax: VersionSyntax): Version | undefined {
  const rules = RULES[syntax]
  const body = text.startsWith('v') ? text.slice(1) : text
  const plus = body.indexOf('+')
  const main = plus < 0 ? body : body.slice(0, plus)
  const metadata = plus < 0 ? '' : body.slice(plus + 1)
  if (plus >= 0 && !rules.identifiers.test(metadata)) return undefined
  const numbers = /^[0-9]+(?:\.[0-9]+)*/.exec(main)?.[0] ?? ''
  const segments = readSegments(numbers, rules)
  const prerelease = readPrerelease(main.slice(numbers.length), rules)
  if (segments === undefined || prerelease === undefined) return undefined
  const segmentsGiven = segments.length
  while (segments.length < 3) segments.push(0)
  return { segments, segmentsGiven, prerelease, metadata }
}

function readSegments(numbers: string, rules: Rules): (number | bigint)[] | undefined {
  const parts = numbers.split('.')
  if (parts.length < rules.segmentsMin || parts.length > rules.segmentsMax) return undefined
  if (!parts.every((part) => rules.segment.test(part))) return undefined
  const segments = parts.map((part) => (DIGITS.test(part) ? Number(part) : BigInt(part)))
  return segments.every((segment) => segment <= INT64_MAX) ? segments : undefined
}

/** Parses the rest after the numbers: nothing, `-identifiers` or, in loose versions, letters. */
function readPrerelease(rest: string, rules: Rules): readonly string[] | undefined {
  if (rest === '') return []
  const hasDash = rest.startsWith('-')
  if (!hasDash && (rules.isDashOptional !== true || !/^[A-Za-z~]/.test(rest))) return undefined
  const text = hasDash ? rest.slice(1) : rest
  if (!rules.identifiers.test(text)) return undefined
  const identifiers = text.split('.')
  const isBad = rules.isCanonical === true && identifiers.some((one) => /^0[0-9]+$/.test(one))
  return isBad ? undefined : identifiers
}

/** Returns -1, 0 or 1. Metadata is ignored. */
export function compareVersions(a: Version, b: Version): number {
  return compareSegments(a, b) || comparePrereleases(a.prerelease, b.prerelease)
}

export function compareSegments(a: Version, b: Version): number {
  const length = Math.max(a.segments.length, b.segments.length)
  for (let i = 0; i < length; i++) {
    const [left, right] = [a.segments[i] ?? 0, b.segments[i] ?? 0]
    if (left !== right) return left < right ? -1 : 1
  }
  return 0
}

/** Whether the first `count` segments are equal, for the `~>` operator. */
export function haveEqualSegments(a: Version, b: Version, count: number): boolean {
  return a.segments.slice(0, count).every((segment, i) => segment === b.segments[i])
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

/** Compares lengths first, so that any number of digits is exact. */
function compareDigits(a: string, b: string): number {
  const [left, right] = [a.replace(/^0+(?=\d)/, ''), b.replace(/^0+(?=\d)/, '')]
  if (left.length !== right.length) return left.length < right.length ? -1 : 1
  return left < right ? -1 : left > right ? 1 : 0
}
