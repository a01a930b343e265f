import { err, ok, type Result } from '@reeve/kit/result.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'

/** Selection of a `prefix` parameter in a list of UUIDs. */
interface UuidPrefix {
  /** Matches are in the range [low, high) of sorted IDs; without `high` the range is open. */
  readonly low: string
  readonly high: string | undefined
  /** Reports whether a canonical lower-case ID has the prefix. */
  matches(id: string): boolean
}

/**
 * Parses a prefix: hex digits in any case, an even number of them, hyphens ignored. The refusal is
 * the whole message, in which `kind` names the resource (`alloc`, `eval`, `node`, …).
 */
export function parseUuidPrefix(kind: string, text: string): Result<UuidPrefix, string> {
  const problem = lengthProblem(text) ?? digitProblem(text)
  if (problem !== undefined) return err(`${kind} lookup failed: ${problem}`)
  const low = toCanonicalUuid(text)
  return ok({ low, high: upperBoundOf(low), matches: (id) => id.startsWith(low) })
}

/** Returns the canonical form of a full ID of 36 characters; the caller checks that it exists. */
export function checkUuid(kind: string, text: string): Result<string, string> {
  if (CANONICAL_UUID.test(text)) return ok(text)
  const problem =
    encodeUtf8(text).length === UUID_LENGTH
      ? digitProblem(text)
      : `UUID must be ${UUID_LENGTH} characters`
  return problem === undefined
    ? ok(toCanonicalUuid(text))
    : err(`${kind} lookup failed: ${problem}`)
}

/**
 * Returns the canonical form of a prefix of any length, for searches, which find nothing where a
 * list would reject it. Undefined if no ID has this prefix.
 */
export function looseUuidPrefix(text: string): string | undefined {
  const isPrefix = text.length <= UUID_LENGTH && /^[0-9a-fA-F-]*$/.test(text)
  return isPrefix && text.split('-').length - 1 <= MAX_HYPHENS ? toCanonicalUuid(text) : undefined
}

/** Canonical form of IDs, which nearly all requests use. */
const CANONICAL_UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const UUID_LENGTH = 36
const MAX_HYPHENS = 4

function lengthProblem(text: string): string | undefined {
  const length = encodeUtf8(text).length
  if (length <= UUID_LENGTH) return undefined
  return `Invalid UUID length. UUID have ${UUID_LENGTH} characters; got ${length}`
}

function digitProblem(text: string): string | undefined {
  const hyphens = text.split('-').length - 1
  if (hyphens > MAX_HYPHENS) return `UUID should have maximum of ${MAX_HYPHENS} "-"; got ${hyphens}`
  if ((encodeUtf8(text).length - hyphens) % 2 !== 0)
    return 'Input (without hyphens) must be even length'
  const wrong = /[^0-9a-fA-F-]/u.exec(text)?.[0]
  return wrong === undefined ? undefined : `Invalid UUID: ${invalidByte(wrong)}`
}

/** Describes the first byte that is no hex digit, by its number and, if printable, by itself. */
function invalidByte(character: string): string {
  const byte = encodeUtf8(character)[0] ?? 0
  const number = `U+${byte.toString(16).toUpperCase().padStart(4, '0')}`
  const isPrintable = byte >= 0x20 && byte !== 0x7f
  return `encoding/hex: invalid byte: ${number}${isPrintable ? ` '${String.fromCharCode(byte)}'` : ''}`
}

/** Number of digits between the hyphens of the canonical form. */
const GROUPS = [8, 4, 4, 4, 12]

/**
 * Returns lower case with hyphens at their positions; excess digits are kept, so that nothing
 * matches.
 */
function toCanonicalUuid(text: string): string {
  const digits = text.replaceAll('-', '').toLowerCase()
  const parts: string[] = []
  let offset = 0
  for (const [index, size] of GROUPS.entries()) {
    const isLast = index === GROUPS.length - 1
    if (offset < digits.length) parts.push(digits.slice(offset, isLast ? undefined : offset + size))
    offset += size
  }
  return parts.join('-')
}

/** Returns the least text above every text with the prefix: its last character is incremented. */
function upperBoundOf(prefix: string): string | undefined {
  if (prefix === '') return undefined
  const last = prefix.charCodeAt(prefix.length - 1)
  return prefix.slice(0, -1) + String.fromCharCode(last + 1)
}
