import type { Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { findIntersection } from '../regex/glob-intersection.ts'
import { addLength, chargeForString, smallWholeOf } from './operands.ts'
import {
  compilePattern,
  findMatches,
  chargeSearch,
  type Match,
  type Pattern,
} from '../regex/pattern.ts'

export const REGEX_BUILTINS: readonly Builtin[] = [
  ...(['regex.match', 're_match'] as const).map((name) =>
    define(
      { name, operands: ['string', 'string'], result: 'boolean' },
      (context, pattern, text) => {
        const compiled = usePattern(context, pattern)
        return compiled === undefined ? undefined : isFound(context, compiled, text)
      },
      { isDeprecated: name === 're_match' },
    ),
  ),
  define({ name: 'regex.is_valid', operands: ['any'], result: 'boolean' }, (context, pattern) => {
    if (typeof pattern !== 'string') return false
    chargeForString(context, pattern.length * 16)
    return compilePattern(pattern).ok
  }),
  define({ name: 'regex.split', operands: ['string', 'string'], result: 'array' }, split),
  define(
    { name: 'regex.find_n', operands: ['string', 'string', 'number'], result: 'array' },
    (context, ...[pattern, text, count]) => {
      const matches = matchesOf(context, pattern, { text, count })
      return matches?.map(([whole]) => cut(text, whole))
    },
  ),
  define(
    {
      name: 'regex.find_all_string_submatch_n',
      operands: ['string', 'string', 'number'],
      result: 'array',
    },
    (context, ...[pattern, text, count]) => {
      const matches = matchesOf(context, pattern, { text, count })
      return matches?.map((match) => match.map((group) => cut(text, group)))
    },
  ),
  define(
    { name: 'regex.replace', operands: ['string', 'string', 'string'], result: 'string' },
    replace,
  ),
  define(
    { name: 'regex.globs_match', operands: ['string', 'string'], result: 'boolean' },
    (context, first, second) => {
      const answer = findIntersection(context, first, second)
      return answer.ok ? answer.value : context.fail(answer.error)
    },
  ),
  define(
    {
      name: 'regex.template_match',
      operands: ['string', 'string', 'string', 'string'],
      result: 'boolean',
    },
    matchTemplate,
  ),
]

function usePattern(context: CallContext, text: string): Pattern | undefined {
  chargeForString(context, text.length)
  const compiled = compilePattern(text)
  return compiled.ok ? compiled.value : context.fail(compiled.error)
}

function isFound(context: CallContext, pattern: Pattern, text: string): boolean {
  chargeSearch(context, pattern, text.length)
  return pattern.regex.matcher(text).find()
}

function cut(text: string, range: Match[number]): string {
  return range === undefined ? '' : text.slice(range[0], range[1])
}

function matchesOf(
  context: CallContext,
  pattern: string,
  { text, count }: { readonly text: string; readonly count: Parameters<typeof smallWholeOf>[1] },
): readonly Match[] | undefined {
  const limit = smallWholeOf(context, count, 3)
  if (limit === undefined) return undefined
  const compiled = usePattern(context, pattern)
  return compiled === undefined ? undefined : findMatches(context, compiled, { text, limit })
}

/** The texts between the matches. An empty match at the very start separates nothing. */
function split(context: CallContext, pattern: string, text: string): Value | undefined {
  const compiled = usePattern(context, pattern)
  if (compiled === undefined) return undefined
  if (text === '') return pattern === '' ? [] : ['']
  const parts: string[] = []
  let [from, end] = [0, 0]
  for (const [whole] of findMatches(context, compiled, { text, limit: -1 })) {
    const [start, stop] = whole ?? [0, 0]
    end = start
    if (stop !== 0) parts.push(text.slice(from, start))
    from = stop
  }
  if (end !== text.length) parts.push(text.slice(from))
  return parts
}

function replace(
  context: CallContext,
  ...[text, pattern, by]: readonly [string, string, string]
): string | undefined {
  const compiled = usePattern(context, pattern)
  if (compiled === undefined) return undefined
  const parts = parseReplacement(by)
  const names = compiled.regex.namedGroups()
  const pieces: string[] = []
  let copied = 0
  let length = 0
  const put = (piece: string) => {
    length = addLength(context, length, piece.length)
    pieces.push(piece)
  }
  for (const match of findMatches(context, compiled, { text, limit: -1 })) {
    const [start, stop] = match[0] ?? [0, 0]
    put(text.slice(copied, start))
    for (const part of parts)
      put('text' in part ? part.text : cut(text, match[groupIndex(part.group, names)]))
    copied = stop
  }
  put(text.slice(copied))
  return pieces.join('')
}

/** A group that does not exist is no place at all. */
function groupIndex(name: string, names: Readonly<Record<string, number>>): number {
  if (/^[0-9]+$/.test(name)) return Number(name)
  return Object.hasOwn(names, name) ? (names[name] ?? -1) : -1
}

type Part = { readonly text: string } | { readonly group: string }

const REFERENCE = /\$(?:(\$)|(\w+)|\{(\w+)\})/g

/** `$1`, `${1}`, `$name`, `${name}`, `$$`; a name goes on as long as it can. */
function parseReplacement(by: string): readonly Part[] {
  const parts: Part[] = []
  let at = 0
  for (const match of by.matchAll(REFERENCE)) {
    parts.push({ text: by.slice(at, match.index) })
    const group = match[2] ?? match[3]
    parts.push(group === undefined ? { text: '$' } : { group })
    at = match.index + match[0].length
  }
  parts.push({ text: by.slice(at) })
  return parts
}

/** A text with regular expressions between delimiters; all of it has to match. */
function matchTemplate(
  context: CallContext,
  ...[template, text, open, close]: readonly [string, string, string, string]
): boolean | undefined {
  if (open.length !== 1)
    return context.fail(
      `start delimiter has to be exactly one character long but is ${open.length} long`,
    )
  if (close.length !== 1)
    return context.fail(
      `end delimiter has to be exactly one character long but is ${close.length} long`,
    )
  chargeForString(context, template.length)
  const pattern = templatePattern(template, open, close)
  if (pattern === undefined) return context.fail(`unbalanced braces in ${JSON.stringify(template)}`)
  const compiled = usePattern(context, pattern)
  return compiled === undefined ? undefined : isFound(context, compiled, text)
}

function templatePattern(template: string, open: string, close: string): string | undefined {
  let pattern = '^'
  let level = 0
  let from = 0
  for (let at = 0; at < template.length; at++) {
    const sign = template.charAt(at)
    if (sign === open) {
      if (++level > 1) continue
      pattern += quoteMeta(template.slice(from, at))
      from = at + 1
    } else if (sign === close) {
      if (--level < 0) return undefined
      if (level > 0) continue
      pattern += `(${template.slice(from, at)})`
      from = at + 1
    }
  }
  return level === 0 ? `${pattern}${quoteMeta(template.slice(from))}$` : undefined
}

function quoteMeta(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&')
}
