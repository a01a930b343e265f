import { compileRegex, quoteRegex } from '@reeve/kit/regex.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { FILESET_DEPTH_MAX, PATTERN_CHARACTERS_MAX } from '../limits.ts'

export interface PathPattern {
  /** How many directory levels a matching path may have below the start. */
  readonly depthMax: number
  readonly matches: (path: string) => boolean
}

/**
 * Compiles a glob to a linear-time regular expression: `*` and `?` within a name, `**` across
 * names, `[a-z]`, `[^a-z]`, `{a,b}`, and backslash escapes.
 */
export function compilePathPattern(pattern: string): Result<PathPattern, string> {
  if (pattern.length > PATTERN_CHARACTERS_MAX)
    return err(`must have at most ${PATTERN_CHARACTERS_MAX} characters`)
  const source = translate(pattern)
  if (!source.ok) return source
  const compiled = compileRegex(`^(?:${source.value})$`, PATH_PATTERN_LIMITS)
  if (!compiled.ok)
    return err(`cannot be used: its regular expression is ${compiled.error.message}`)
  const { regex } = compiled.value
  const depthMax = pattern.includes('**')
    ? FILESET_DEPTH_MAX
    : Math.min(FILESET_DEPTH_MAX, pattern.split('/').length - 1)
  return ok({ depthMax, matches: (path) => regex.matches(path) })
}

/** A character of the pattern expands to at most a dozen characters. */
const PATH_PATTERN_LIMITS = {
  lengthMax: 16 * PATTERN_CHARACTERS_MAX,
  sizeMax: 16 * PATTERN_CHARACTERS_MAX,
  matchesLineEnds: true,
}

const TOKEN = /\*\*\/|\*\*|\*|\?|\[(\^|!)?([^\]]+)\]|\\(.)|[{},]|[^]/gu

function translate(pattern: string): Result<string, string> {
  let source = ''
  let depth = 0
  for (const [token, negation, members, escaped] of pattern.matchAll(TOKEN)) {
    if (token === '**/') source += '(?:.*/)?'
    else if (token === '**') source += '.*'
    else if (token === '*') source += '[^/]*'
    else if (token === '?') source += '[^/]'
    else if (members !== undefined) source += characterClass(members, negation !== undefined)
    else if (escaped !== undefined) source += quoteRegex(escaped)
    else if (token === '{') {
      depth++
      source += '(?:'
    } else if (token === '}' && depth > 0) {
      depth--
      source += ')'
    } else source += token === ',' && depth > 0 ? '|' : quoteRegex(token)
  }
  if (depth > 0) return err('has a "{" without its "}"')
  return ok(source)
}

/** Keeps ranges and escapes every other special character. */
function characterClass(members: string, isNegated: boolean): string {
  let source = ''
  for (const [, from = '', to] of members.matchAll(/\\?([^])(?:-\\?([^]))?/gu))
    source +=
      to === undefined || to < from
        ? [from, to ?? ''].map(escapeMember).join('')
        : `${escapeMember(from)}-${escapeMember(to)}`
  return `[${isNegated ? '^/' : ''}${source}]`
}

function escapeMember(member: string): string {
  return /^[\^\]\\[-]$/.test(member) ? `\\${member}` : member
}
