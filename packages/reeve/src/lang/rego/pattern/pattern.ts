import { RE2JS, RE2JSException } from 're2js'
import { patternSize } from '../../../kit/pattern-size.ts'
import { err, ok, type Result } from '../../../kit/result.ts'
import type { CallContext } from '../builtins/builtin.ts'
import {
  PATTERN_INSTRUCTIONS_MAX,
  PATTERN_INSTRUCTIONS_PER_STEP,
  PATTERN_LENGTH_MAX,
  PATTERNS_KEPT_MAX,
} from '../builtins/limits.ts'

export interface Pattern {
  readonly regex: RE2JS
  readonly instructions: number
}

/** Compiling takes far longer than matching, and policies use the same few patterns. */
const kept = new Map<string, Result<Pattern, string>>()

/** A regular expression that is matched in linear time. */
export function compilePattern(text: string): Result<Pattern, string> {
  const known = kept.get(text)
  if (known !== undefined) return known
  const compiled = compile(text)
  // The oldest goes: maps keep the order of their keys.
  if (kept.size >= PATTERNS_KEPT_MAX) kept.delete(kept.keys().next().value ?? '')
  kept.set(text, compiled)
  return compiled
}

function compile(text: string): Result<Pattern, string> {
  if (text.length > PATTERN_LENGTH_MAX)
    return err(`the pattern is longer than ${PATTERN_LENGTH_MAX} characters`)
  // Before it is compiled: a short text such as `(a{900}){9}` can stand for a huge program.
  if (patternSize(text) > PATTERN_INSTRUCTIONS_MAX)
    return err(`the pattern has more than ${PATTERN_INSTRUCTIONS_MAX} instructions`)
  try {
    const regex = RE2JS.compile(text)
    const instructions = regex.programSize()
    return instructions > PATTERN_INSTRUCTIONS_MAX
      ? err(`the pattern has more than ${PATTERN_INSTRUCTIONS_MAX} instructions`)
      : ok({ regex, instructions })
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown
    return err(thrown.message)
  }
}

/** Pays for one search through so many characters. */
export function paySearch(context: CallContext, { instructions }: Pattern, length: number): void {
  context.charge(1 + Math.floor((length * instructions) / PATTERN_INSTRUCTIONS_PER_STEP / 16))
}

/** Start and end of the match and of every group; a group that took no part has none. */
export type Match = readonly (readonly [start: number, end: number] | undefined)[]

/** The matches from left to right. An empty one right behind another does not count. */
export function findMatches(
  context: CallContext,
  pattern: Pattern,
  { text, limit }: { readonly text: string; readonly limit: number },
): readonly Match[] {
  const matcher = pattern.regex.matcher(text)
  const matches: Match[] = []
  let end = -1
  paySearch(context, pattern, text.length)
  const max = limit < 0 ? Number.POSITIVE_INFINITY : limit
  while (matches.length < max && matcher.find()) {
    const [from, to] = [matcher.start(), matcher.end()]
    paySearch(context, pattern, Math.max(1, to - Math.max(end, 0)))
    if (from === to && from === end) continue
    end = to
    matches.push(
      Array.from({ length: matcher.groupCount() + 1 }, (_, group) => {
        const start = matcher.start(group)
        return start < 0 ? undefined : ([start, matcher.end(group)] as const)
      }),
    )
  }
  return matches
}
