import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { CallContext } from '../builtins/builtin.ts'
import { PATTERN_LENGTH_MAX } from '../builtins/limits.ts'

/** Code points from the first to the second. */
type Range = readonly [number, number]

/** One character of any of the ranges; once, at least once, or any number of times. */
interface Token {
  readonly ranges: readonly Range[]
  readonly times: '' | '+' | '*'
}

const ANY: readonly Range[] = [[0, 0x10ffff]]

/**
 * Whether some text that is not empty matches both: `.`, `[a-z]`, `+`, `*` and `\` mean something
 * in them.
 */
export function findIntersection(
  context: CallContext,
  first: string,
  second: string,
): Result<boolean, string> {
  const left = tokenise(first)
  if (!left.ok) return left
  const right = tokenise(second)
  if (!right.ok) return right
  return ok(haveCommonText(context, left.value, right.value))
}

/**
 * Walks through both at the same time: a state is a place in each and whether there was a character
 * yet, and a step takes a character that both allow. Every state is visited once.
 */
function haveCommonText(
  context: CallContext,
  left: readonly Token[],
  right: readonly Token[],
): boolean {
  const width = right.length + 1
  const placeCount = (left.length + 1) * width
  context.charge(placeCount)
  const seen = new Uint8Array(2 * placeCount)
  const waiting: number[] = []
  const visit = (at: number, other: number, hasText: boolean) => {
    const state = at * width + other + (hasText ? placeCount : 0)
    if (seen[state] === 1) return
    seen[state] = 1
    waiting.push(state)
  }
  // Two that are empty are the same, and nothing has to be found.
  visit(0, 0, left.length + right.length === 0)
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    const hasText = state >= placeCount
    const place = state % placeCount
    const [at, other] = [Math.floor(place / width), place % width]
    const [one, two] = [left[at], right[other]]
    if (one === undefined && two === undefined && hasText) return true
    if (one?.times === '*') visit(at + 1, other, hasText)
    if (two?.times === '*') visit(at, other + 1, hasText)
    if (one === undefined || two === undefined || !overlap(one, two)) continue
    for (const nextAt of nextPlaces(one, at))
      for (const nextOther of nextPlaces(two, other)) visit(nextAt, nextOther, true)
  }
  return false
}

/** A repeated token may stay where it is. */
function nextPlaces({ times }: Token, at: number): readonly number[] {
  return times === '' ? [at + 1] : [at, at + 1]
}

function overlap(one: Token, two: Token): boolean {
  return one.ranges.some(([from, to]) =>
    two.ranges.some(([start, end]) => from <= end && start <= to),
  )
}

function tokenise(text: string): Result<readonly Token[], string> {
  if (text.length > PATTERN_LENGTH_MAX)
    return err(`the pattern is longer than ${PATTERN_LENGTH_MAX} characters`)
  const characters = Array.from(text)
  const tokens: Token[] = []
  for (let at = 0; at < characters.length;) {
    const found = takeRanges(text, characters, at)
    if (!found.ok) return found
    const { ranges, end } = found.value
    const sign = characters[end]
    const times = sign === '*' || sign === '+' ? sign : ''
    tokens.push({ ranges, times })
    at = end + times.length
  }
  return ok(tokens)
}

interface Taken {
  readonly ranges: readonly Range[]
  readonly end: number
}

function takeRanges(
  text: string,
  characters: readonly string[],
  at: number,
): Result<Taken, string> {
  const sign = characters[at] ?? ''
  if (sign === '.') return ok({ ranges: ANY, end: at + 1 })
  if (sign === '[') return takeSet(text, characters, at)
  if (sign === ']') return invalid(text, at, "set-close ']' with no preceding '['")
  if (sign === '*' || sign === '+')
    return invalid(text, at, `flag '${sign}' must be preceded by a non-flag`)
  if (sign !== '\\') return ok({ ranges: [only(sign)], end: at + 1 })
  const escaped = characters[at + 1]
  if (escaped === undefined) return invalid(text, at, 'input ends with a \\ (escape) character')
  return ok({ ranges: [only(escaped)], end: at + 2 })
}

function takeSet(
  text: string,
  characters: readonly string[],
  start: number,
): Result<Taken, string> {
  const ranges: Range[] = []
  for (let at = start + 1; at < characters.length; at++) {
    let sign = characters[at] ?? ''
    if (sign === ']') return ok({ ranges, end: at + 1 })
    if (sign === '\\') sign = characters[++at] ?? ''
    if (characters[at + 1] !== '-' || characters[at + 2] === undefined) {
      ranges.push(only(sign))
      continue
    }
    const [from] = only(sign)
    const [to] = only(characters[at + 2] ?? '')
    if (characters[at + 2] === ']' || from > to)
      return invalid(
        text,
        at + 1,
        "range character '-' must be between two Unicode characters in order",
      )
    ranges.push([from, to])
    at += 2
  }
  return invalid(text, start, "set-open '[' with no following ']'")
}

function only(character: string): Range {
  const code = character.codePointAt(0) ?? 0
  return [code, code]
}

function invalid(text: string, at: number, what: string): Result<never, string> {
  return err(`input:${text}, pos:${at + 1}, ${what}: the input provided is invalid`)
}
