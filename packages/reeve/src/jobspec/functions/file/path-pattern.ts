import { RE2JS } from 're2js'
import { compileRegex } from '@reeve/kit/regex.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { FILESET_DEPTH_MAX, PATTERN_CHARACTERS_MAX } from '../limits.ts'

export interface PathPattern {
  /** Directories below the first that a matching path may be in. */
  readonly depthMax: number
  readonly matches: (path: string) => boolean
}

/**
 * `*` and `?` within a name, `**` across names, `[a-z]` and `[^a-z]`, `{a,b}`, and a backslash
 * before a sign that stands for itself. Translated to a regular expression of linear time.
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

/** A sign of the pattern becomes at most a dozen characters. */
const PATH_PATTERN_LIMITS = {
  lengthMax: 16 * PATTERN_CHARACTERS_MAX,
  sizeMax: 16 * PATTERN_CHARACTERS_MAX,
  flags: RE2JS.DOTALL,
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
    else if (members !== undefined) source += classOf(members, negation !== undefined)
    else if (escaped !== undefined) source += RE2JS.quote(escaped)
    else if (token === '{') {
      depth++
      source += '(?:'
    } else if (token === '}' && depth > 0) {
      depth--
      source += ')'
    } else source += token === ',' && depth > 0 ? '|' : RE2JS.quote(token)
  }
  if (depth > 0) return err('has a "{" without its "}"')
  return ok(source)
}

/** Ranges keep their meaning, every other sign stands for itself. */
function classOf(members: string, isNegated: boolean): string {
  let source = ''
  for (const [, from = '', to] of members.matchAll(/\\?([^])(?:-\\?([^]))?/gu))
    source +=
      to === undefined || to < from
        ? [from, to ?? ''].map(quoteMember).join('')
        : `${quoteMember(from)}-${quoteMember(to)}`
  return `[${isNegated ? '^/' : ''}${source}]`
}

function quoteMember(member: string): string {
  return /^[\^\]\\[-]$/.test(member) ? `\\${member}` : member
}
