import { report } from '../text/diagnostic.ts'
import { joinSpans } from '../text/source.ts'
import { toText } from '../value/convert.ts'
import {
  isWord,
  peek,
  reportNext,
  skipNewlines,
  spanFrom,
  take,
  takeIf,
  tokenText,
  withNewlines,
  type Cursor,
} from './cursor.ts'
import type { Token } from './token.ts'
import type { Expression, ForBinding, ForExpression, ObjectItem } from './ast.ts'

/** `[a, b]` or `[for v in c : v]`. */
export function parseTuple(cursor: Cursor): Expression | undefined {
  return withNewlines(cursor, false, () => {
    const open = take(cursor)
    if (isWord(cursor, 'for')) return parseFor(cursor, open)
    const elements: Expression[] = []
    for (;;) {
      if (takeIf(cursor, ']') !== undefined)
        return { kind: 'tuple', elements, span: spanFrom(cursor, open.start) }
      const element = cursor.parseExpression(cursor)
      if (element === undefined) return undefined
      elements.push(element)
      if (takeIf(cursor, ',') !== undefined || peek(cursor).kind === ']') continue
      const detail = 'Expected "," between elements or "]" after the last one, but found {found}.'
      return reportNext(cursor, 'Missing item separator', detail)
    }
  })
}

/** `{ a = b }` or `{for k, v in c : k => v}`. */
export function parseObject(cursor: Cursor): Expression | undefined {
  const open = take(cursor)
  const isFor = withNewlines(cursor, false, () => isWord(cursor, 'for'))
  if (isFor) return withNewlines(cursor, false, () => parseFor(cursor, open))
  return withNewlines(cursor, true, () => {
    const items: ObjectItem[] = []
    for (;;) {
      skipNewlines(cursor)
      if (takeIf(cursor, '}') !== undefined) {
        const span = spanFrom(cursor, open.start)
        return { kind: 'object', items, uniqueNames: false, span }
      }
      const item = parseObjectItem(cursor)
      if (item === undefined) return undefined
      items.push(item)
      const { kind } = peek(cursor)
      if (kind === ',' || kind === 'newline') take(cursor)
      else if (kind !== '}') return reportItemEnd(cursor)
    }
  })
}

function reportItemEnd(cursor: Cursor): undefined {
  const detail =
    'Expected a newline or "," between attributes or "}" after the last one, but found {found}.'
  return reportNext(cursor, 'Missing attribute separator', detail)
}

function parseObjectItem(cursor: Cursor): ObjectItem | undefined {
  const key = cursor.parseExpression(cursor)
  if (key === undefined) return undefined
  if (key.kind === 'access' && key.base.kind === 'variable') return reportAmbiguousKey(cursor, key)
  if (takeIf(cursor, '=') === undefined && takeIf(cursor, ':') === undefined) {
    const detail = 'Expected "=" after the name of the attribute, but found {found}.'
    return reportNext(cursor, 'Missing attribute value', detail)
  }
  const value = cursor.parseExpression(cursor)
  if (value === undefined) return undefined
  const span = joinSpans(key.span, value.span)
  const name = staticName(key)
  const keySpan = key.span
  if (name === undefined) return { key, keySpan, value, span }
  return { key: { kind: 'literal', value: name, span: keySpan }, keySpan, name, value, span }
}

function reportAmbiguousKey(cursor: Cursor, key: Expression): undefined {
  const detail =
    'A reference used as a key must be in parentheses; a name that contains dots must be in quotes.'
  return report(cursor.problems, { span: key.span, summary: 'Ambiguous attribute key', detail })
}

/** A bare name is the key itself, not a variable. The same holds for `true` and `null`. */
function staticName(key: Expression): string | undefined {
  if (key.kind === 'variable') return key.name
  if (key.kind !== 'literal') return undefined
  return key.value === null ? 'null' : toText(key.value)
}

function parseFor(cursor: Cursor, open: Token): ForExpression | undefined {
  const isObject = open.kind === '{'
  const binding = parseForBinding(cursor)
  if (binding === undefined) return undefined
  if (takeIf(cursor, ':') === undefined)
    return reportFor(cursor, 'expected ":" after the collection')
  const first = cursor.parseExpression(cursor)
  if (first === undefined) return undefined
  let value: Expression | undefined = first
  if (isObject) {
    if (takeIf(cursor, '=>') === undefined)
      return reportFor(cursor, 'expected "=>" between key and value')
    value = cursor.parseExpression(cursor)
    if (value === undefined) return undefined
  }
  const isGrouped = isObject && takeIf(cursor, '...') !== undefined
  const condition = parseForCondition(cursor)
  if (condition === undefined) return undefined
  if (takeIf(cursor, isObject ? '}' : ']') === undefined)
    return reportFor(cursor, `expected "${isObject ? '}' : ']'}" at the end`)
  const span = spanFrom(cursor, open.start)
  const key = isObject ? { key: first } : {}
  return { kind: 'for', binding, ...key, value, isGrouped, ...condition, span }
}

function parseForCondition(cursor: Cursor): { readonly condition?: Expression } | undefined {
  if (!isWord(cursor, 'if')) return {}
  take(cursor)
  const condition = cursor.parseExpression(cursor)
  return condition === undefined ? undefined : { condition }
}

/**
 * Parses `for k, v in collection`, in collections and template directives; starts at the word
 * `for`.
 */
export function parseForBinding(cursor: Cursor): ForBinding | undefined {
  take(cursor)
  const first = takeIf(cursor, 'identifier')
  if (first === undefined) return reportFor(cursor, 'expected a variable name')
  let second: Token | undefined
  if (takeIf(cursor, ',') !== undefined) {
    second = takeIf(cursor, 'identifier')
    if (second === undefined) return reportFor(cursor, 'expected a variable name after ","')
  }
  if (!isWord(cursor, 'in')) return reportFor(cursor, 'expected "in" after the variable names')
  take(cursor)
  const collection = cursor.parseExpression(cursor)
  if (collection === undefined) return undefined
  if (second === undefined) return { valueName: tokenText(cursor, first), collection }
  return {
    keyName: tokenText(cursor, first),
    valueName: tokenText(cursor, second),
    collection,
  }
}

function reportFor(cursor: Cursor, what: string): undefined {
  return reportNext(cursor, "Invalid 'for' expression", `In "for", ${what}, but found {found}.`)
}
