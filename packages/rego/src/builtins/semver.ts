import { quote } from '@reeve/go-template/fmt'
import { define, type Builtin } from './builtin.ts'
import { payForText } from './operand.ts'

interface Version {
  readonly numbers: readonly bigint[]
  readonly identifiers: readonly string[]
}

export const SEMVER_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'semver.compare', operands: ['string', 'string'], result: 'number' },
    (context, a, b) => {
      payForText(context, a.length + b.length)
      const left = parseVersion(a)
      if (left === undefined)
        return context.fail(`operand 1: string ${quote(a)} is not a valid SemVer`)
      const right = parseVersion(b)
      if (right === undefined)
        return context.fail(`operand 2: string ${quote(b)} is not a valid SemVer`)
      return compareVersions(left, right)
    },
  ),
  define({ name: 'semver.is_valid', operands: ['any'], result: 'boolean' }, (context, value) => {
    if (typeof value !== 'string') return false
    payForText(context, value.length)
    return parseVersion(value) !== undefined
  }),
]

const VERSION =
  /^v?(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/
const IDENTIFIERS = /^[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*$/
const NUMBER_MAX = 2n ** 63n - 1n

/** Semantic Versioning 2.0.0, with a leading `v` if you like. */
function parseVersion(text: string): Version | undefined {
  const match = VERSION.exec(text)
  if (match === null) return undefined
  const [, major = '', minor = '', patch = '', release, metadata] = match
  if (metadata !== undefined && !IDENTIFIERS.test(metadata)) return undefined
  if (release !== undefined && !IDENTIFIERS.test(release)) return undefined
  const identifiers = release?.split('.') ?? []
  if (identifiers.some((one) => /^0[0-9]+$/.test(one))) return undefined
  const numbers = [major, minor, patch].map(BigInt)
  return numbers.every((number) => number <= NUMBER_MAX) ? { numbers, identifiers } : undefined
}

function compareVersions(a: Version, b: Version): number {
  for (const [at, number] of a.numbers.entries()) {
    const other = b.numbers[at] ?? 0n
    if (number !== other) return number < other ? -1 : 1
  }
  // Without identifiers it is the release itself, which comes after them all.
  if (a.identifiers.length === 0 || b.identifiers.length === 0)
    return Math.sign(b.identifiers.length - a.identifiers.length)
  for (const [at, identifier] of a.identifiers.entries()) {
    const other = b.identifiers[at]
    if (other === undefined) return 1
    const order = compareIdentifiers(identifier, other)
    if (order !== 0) return order
  }
  return Math.sign(a.identifiers.length - b.identifiers.length)
}

/** Numbers by value and before all others, which go by their characters. */
function compareIdentifiers(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^[0-9]+$/.test(a), /^[0-9]+$/.test(b)]
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  if (isNumber && a.length !== b.length) return a.length < b.length ? -1 : 1
  return a < b ? -1 : a > b ? 1 : 0
}
