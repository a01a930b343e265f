import { LruCache } from '@reeve/kit/lru-cache.ts'
import { compileRegex, type Regex } from '@reeve/kit/regex.ts'
import { err, type Result } from '@reeve/kit/result.ts'
import type { CallContext } from '../builtins/builtin.ts'
import {
  PATTERN_INSTRUCTIONS_MAX,
  PATTERN_INSTRUCTIONS_PER_STEP,
  PATTERN_LENGTH_MAX,
  PATTERNS_KEPT_MAX,
} from '../builtins/limits.ts'

export type Pattern = Regex

/** Compiling takes far longer than matching, and policies use the same few patterns. */
const cache = new LruCache<string, Result<Pattern, string>>({ weightMax: PATTERNS_KEPT_MAX })

const PATTERN_LIMITS = { lengthMax: PATTERN_LENGTH_MAX, sizeMax: PATTERN_INSTRUCTIONS_MAX }

/** A regular expression that is matched in linear time. */
export function compilePattern(text: string): Result<Pattern, string> {
  const cached = cache.get(text)
  if (cached !== undefined) return cached
  const compiled = compile(text)
  cache.set(text, compiled)
  return compiled
}

function compile(text: string): Result<Pattern, string> {
  const compiled = compileRegex(text, PATTERN_LIMITS)
  if (compiled.ok) return compiled
  const { kind, message } = compiled.error
  return err(kind === 'invalid' ? message : `the pattern is ${message}`)
}

/** Pays for one search through so many characters. */
export function chargeSearch(
  context: CallContext,
  { instructions }: Pattern,
  length: number,
): void {
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
  chargeSearch(context, pattern, text.length)
  const max = limit < 0 ? Number.POSITIVE_INFINITY : limit
  while (matches.length < max && matcher.find()) {
    const [from, to] = [matcher.start(), matcher.end()]
    chargeSearch(context, pattern, Math.max(1, to - Math.max(end, 0)))
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
