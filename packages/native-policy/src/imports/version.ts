import { compareTexts } from '../value/bytes.ts'
import { mapOf } from '../value/map.ts'
import { isMap, type CallContext, type MapValue, type Value } from '../value/value.ts'
import { typed } from './function.ts'

/** A version with its parts; missing numbers are zero. */
interface Version {
  readonly text: string
  readonly numbers: readonly [number, number, number]
  /** How many numbers were written: `~> 1.2` and `~> 1.2.0` differ. */
  readonly written: number
  readonly prerelease: string
  readonly metadata: string
}

const VERSION =
  /^v?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/
const CONSTRAINT = /^\s*(=|!=|>=|<=|>|<|~>)?\s*(\S+)\s*$/

/** The import `version`. */
export function versionImport(): MapValue {
  return mapOf({
    new: typed('new', ['string'], ([text], context) => versionValue(readVersion(text, context))),
  })
}

function readVersion(text: string, context: CallContext): Version {
  return parseVersion(text) ?? context.fail(`${JSON.stringify(text)} is no version`)
}

function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch, prerelease, metadata] = VERSION.exec(text) ?? []
  if (major === undefined) return undefined
  return {
    text,
    numbers: [Number(major), Number(minor ?? 0), Number(patch ?? 0)],
    written: 1 + Number(minor !== undefined) + Number(patch !== undefined),
    prerelease: prerelease ?? '',
    metadata: metadata ?? '',
  }
}

/** Each test under its long and its short name. */
const TESTS: readonly (readonly [string, string, (order: number) => boolean])[] = [
  ['greater_than', 'gt', (order) => order > 0],
  ['greater_than_or_equals', 'gte', (order) => order >= 0],
  ['less_than', 'lt', (order) => order < 0],
  ['less_than_or_equals', 'lte', (order) => order <= 0],
  ['equals', 'eq', (order) => order === 0],
]

function versionValue(version: Version): MapValue {
  const { text, numbers, prerelease, metadata } = version
  const [major, minor, patch] = numbers
  const entries: Record<string, Value> = {
    major,
    minor,
    patch,
    prerelease,
    metadata,
    version: text,
  }
  for (const [long, short, accepts] of TESTS)
    for (const name of [long, short])
      entries[name] = typed(name, ['any'], ([other], context) =>
        accepts(compareVersions(version, otherVersion(other, context))),
      )
  for (const name of ['compare', 'cmp'])
    entries[name] = typed(name, ['any'], ([other], context) =>
      compareVersions(version, otherVersion(other, context)),
    )
  for (const name of ['satisfies', 'sat'])
    entries[name] = typed(name, ['string'], ([constraint], context) =>
      constraint.split(',').every((part) => satisfies(version, part, context)),
    )
  return mapOf(entries)
}

/** A version or its text. */
function otherVersion(value: Value, context: CallContext): Version {
  if (typeof value === 'string') return readVersion(value, context)
  const text = isMap(value) ? value.get('version') : undefined
  return typeof text === 'string' ? readVersion(text, context) : context.fail('a version is needed')
}

function compareVersions(left: Version, right: Version): number {
  for (const [index, number] of left.numbers.entries()) {
    const difference = number - (right.numbers[index] ?? 0)
    if (difference !== 0) return Math.sign(difference)
  }
  return comparePrereleases(left.prerelease, right.prerelease)
}

/** A release comes after all its pre-releases; numbers before words. */
function comparePrereleases(left: string, right: string): number {
  if (left === right) return 0
  if (left === '') return 1
  if (right === '') return -1
  const [a, b] = [left.split('.'), right.split('.')]
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const order = compareIdentifiers(a[index] ?? '', b[index] ?? '')
    if (order !== 0) return order
  }
  return Math.sign(a.length - b.length)
}

function compareIdentifiers(left: string, right: string): number {
  const isNumber = (text: string) => /^[0-9]+$/.test(text)
  if (isNumber(left) && isNumber(right)) {
    const difference = BigInt(left) - BigInt(right)
    return difference === 0n ? 0 : difference < 0n ? -1 : 1
  }
  if (isNumber(left) !== isNumber(right)) return isNumber(left) ? -1 : 1
  return compareTexts(left, right)
}

function satisfies(version: Version, constraint: string, context: CallContext): boolean {
  const [, operator = '=', text = ''] = CONSTRAINT.exec(constraint) ?? []
  const bound = parseVersion(text)
  if (bound === undefined)
    return context.fail(`${JSON.stringify(constraint)} is no constraint of versions`)
  const order = compareVersions(version, bound)
  if (operator === '=') return order === 0
  if (operator === '!=') return order !== 0
  return matchesPrerelease(version, bound) && matchesOrder(version, bound, { operator, order })
}

/** With a pre-release only those of the same numbers, without only releases. */
function matchesPrerelease(version: Version, bound: Version): boolean {
  if (bound.prerelease === '') return version.prerelease === ''
  if (version.prerelease === '') return true
  return version.numbers.every((number, index) => number === bound.numbers[index])
}

function matchesOrder(
  version: Version,
  bound: Version,
  { operator, order }: { readonly operator: string; readonly order: number },
): boolean {
  switch (operator) {
    case '>':
      return order > 0
    case '>=':
      return order >= 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    default:
      return order >= 0 && sharesLeading(version, bound)
  }
}

/** `~> 1.2.3`: all written numbers but the last stay. */
function sharesLeading(version: Version, bound: Version): boolean {
  const fixed = Math.max(1, bound.written - 1)
  return bound.numbers.slice(0, fixed).every((number, index) => number === version.numbers[index])
}
