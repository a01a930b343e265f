import { NESTING_DEPTH_MAX, OPERATOR_CHAIN_MAX } from '../limits.ts'
import { negate } from '../value/arithmetic.ts'
import { EMPTY_SET } from '../value/value.ts'
import { Cursor } from './cursor.ts'
import type { Token } from './token.ts'
import type { Term, TemplateExpression, With } from './ast.ts'

/** Loosest first. `|` is left out where it would start the body of a comprehension. */
const LEVELS: readonly Readonly<Record<string, string>>[] = [
  { '==': 'equal', '!=': 'neq', '<': 'lt', '<=': 'lte', '>': 'gt', '>=': 'gte' },
  { '|': 'or' },
  { '&': 'and' },
  { '+': 'plus', '-': 'minus' },
  { '*': 'mul', '/': 'div', '%': 'rem' },
]
const UNION_LEVEL = 1

export interface TermOptions {
  /** The term is the head of what may be a comprehension. */
  readonly isHead?: boolean
  /** `in` belongs to what is around: `some x in xs`. */
  readonly withoutIn?: boolean
}

/** A term with its operators; `in` is the loosest of them. */
export function parseTerm(cursor: Cursor, options: TermOptions = {}): Term {
  return cursor.nested(() => {
    const left = parseLevel(cursor, 0, options)
    if (options.withoutIn === true) return left
    return parseMembership(cursor, left, options)
  })
}

/** `x in xs`, and `in` again: it leans to the left. */
function parseMembership(cursor: Cursor, first: Term, options: TermOptions): Term {
  let term = first
  for (let count = 0; cursor.isKeyword('in'); count++) {
    if (count > OPERATOR_CHAIN_MAX) cursor.failHere('the expression has too many operators')
    cursor.take()
    const domain = parseLevel(cursor, 0, options)
    term = { type: 'call', at: first.at, name: ['internal', 'member_2'], operands: [term, domain] }
  }
  return term
}

/** `k, v in xs` where a list of terms cannot be meant; otherwise a plain term. */
export function parseStatementTerm(cursor: Cursor, options: TermOptions = {}): Term {
  const left = cursor.nested(() => parseLevel(cursor, 0, options))
  if (!cursor.is(',')) return cursor.nested(() => parseMembership(cursor, left, options))
  cursor.take()
  const value = parseTerm(cursor, { ...options, withoutIn: true })
  if (!cursor.skipKeyword('in')) cursor.failHere('expected `in`')
  const domain = parseTerm(cursor, { ...options, withoutIn: true })
  const member: Term = {
    type: 'call',
    at: left.at,
    name: ['internal', 'member_3'],
    operands: [left, value, domain],
  }
  return parseMembership(cursor, member, options)
}

function parseLevel(cursor: Cursor, level: number, options: TermOptions): Term {
  const names = LEVELS[level]
  if (names === undefined) return parsePrimary(cursor)
  let left = parseLevel(cursor, level + 1, options)
  for (let count = 0; ; count++) {
    const { token } = cursor
    const name = token.kind === 'mark' ? names[token.text] : undefined
    if (name === undefined || (level === UNION_LEVEL && options.isHead === true)) return left
    if (count > OPERATOR_CHAIN_MAX) cursor.failHere('the expression has too many operators')
    cursor.take()
    const right = parseLevel(cursor, level + 1, options)
    left = { type: 'call', at: left.at, name: [name], operands: [left, right] }
  }
}

/** A term and what is attached to it: `.a`, `[b]`, `(c)`. Scalars have no parts. */
function parsePrimary(cursor: Cursor): Term {
  const base = parseBase(cursor)
  return base.type === 'scalar' ? base : parseAttached(cursor, base)
}

function parseAttached(cursor: Cursor, base: Term): Term {
  let head = base
  let path: Term[] = []
  for (let count = 0; ; count++) {
    if (path.length > NESTING_DEPTH_MAX) cursor.failHere('the reference is too long')
    if (cursor.isAdjacent('.')) {
      cursor.take()
      const { token } = cursor
      if (token.kind !== 'name' || token.isSpaced) cursor.failHere('expected a name')
      cursor.take()
      path.push({ type: 'scalar', at: token.at, value: token.text })
    } else if (cursor.isAdjacent('[')) {
      cursor.take()
      path.push(parseTerm(cursor))
      cursor.expect(']')
    } else if (cursor.isAdjacent('(')) {
      const name = callName(head, path)
      if (name === undefined) cursor.failHere('only a name can be called')
      if (count > OPERATOR_CHAIN_MAX) cursor.failHere('too many calls in a row')
      head = { type: 'call', at: base.at, name, operands: parseOperands(cursor) }
      path = []
    } else return path.length === 0 ? head : { type: 'ref', at: base.at, head, path }
  }
}

function callName(head: Term, path: readonly Term[]): readonly string[] | undefined {
  if (head.type !== 'var') return undefined
  const name = [head.name]
  for (const segment of path) {
    if (segment.type !== 'scalar' || typeof segment.value !== 'string') return undefined
    name.push(segment.value)
  }
  return name
}

export function parseOperands(cursor: Cursor): readonly Term[] {
  cursor.expect('(')
  return parseList(cursor, ')')
}

/** Up to and past the closing mark; a comma may stand before it. */
function parseList(cursor: Cursor, close: string): Term[] {
  const terms: Term[] = []
  while (!cursor.skip(close)) {
    terms.push(parseTerm(cursor))
    if (!cursor.is(close)) cursor.expect(',')
  }
  return terms
}

function parseBase(cursor: Cursor): Term {
  const { token } = cursor
  switch (token.kind) {
    case 'number':
      cursor.take()
      return { type: 'scalar', at: token.at, value: token.number ?? 0 }
    case 'string':
      cursor.take()
      return { type: 'scalar', at: token.at, value: token.text }
    case 'template':
      cursor.take()
      return parseTemplate(cursor, token)
    case 'name':
      return parseName(cursor)
    case 'mark':
      return parseMarked(cursor)
    case 'end':
      return cursor.failHere('expected a term')
  }
}

const CONSTANTS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null }

function parseName(cursor: Cursor): Term {
  const { token } = cursor
  if (cursor.isAnyKeyword()) {
    const constant = Object.hasOwn(CONSTANTS, token.text) ? CONSTANTS[token.text] : undefined
    // `contains` is also the name of a builtin, which only a call can mean.
    const isCall = token.text === 'contains' && isCalled(cursor)
    if (constant === undefined && !isCall) cursor.failHere('expected a term')
    if (constant !== undefined) {
      cursor.take()
      return { type: 'scalar', at: token.at, value: constant }
    }
  }
  cursor.take()
  if (token.text === 'set' && cursor.isAdjacent('(')) return parseEmptySet(cursor, token)
  return { type: 'var', at: token.at, name: nameOf(cursor, token.text) }
}

function isCalled(cursor: Cursor): boolean {
  const next = cursor.peek(1)
  return next.kind === 'mark' && next.text === '(' && !next.isSpaced
}

/** Every `_` is a variable of its own. */
export function nameOf(cursor: Cursor, text: string): string {
  return text === '_' ? `_$${cursor.reading.wildcardCount++}` : text
}

function parseEmptySet(cursor: Cursor, token: Token): Term {
  cursor.expect('(')
  if (!cursor.skip(')')) cursor.failHere('`set()` takes nothing; write `{…}` for a set')
  return { type: 'scalar', at: token.at, value: EMPTY_SET }
}

function parseMarked(cursor: Cursor): Term {
  const { token } = cursor
  switch (token.text) {
    case '-':
      return parseNegative(cursor)
    case '(': {
      cursor.take()
      const term = cursor.nested(() => parseStatementTerm(cursor))
      cursor.expect(')')
      return term
    }
    case '[':
      return parseArray(cursor)
    case '{':
      return parseBraces(cursor)
    default:
      return cursor.failHere('expected a term')
  }
}

/** `-1` is a number; `-x`, `-a.b` and `-f(x)` are taken from nothing. */
function parseNegative(cursor: Cursor): Term {
  const { at } = cursor.take()
  const { token } = cursor
  if (token.kind === 'number' && token.number !== undefined) {
    cursor.take()
    return { type: 'scalar', at, value: negate(token.number) }
  }
  if (token.kind !== 'name' || Object.hasOwn(CONSTANTS, token.text))
    cursor.failHere('expected a number, a name or a call')
  const zero: Term = { type: 'scalar', at, value: 0 }
  return { type: 'call', at, name: ['minus'], operands: [zero, parsePrimary(cursor)] }
}

function parseArray(cursor: Cursor): Term {
  const { at } = cursor.expect('[')
  if (cursor.skip(']')) return { type: 'array', at, items: [] }
  const head = parseTerm(cursor, { isHead: true })
  if (cursor.skip('|')) {
    const body = cursor.reading.readBody(cursor)
    cursor.expect(']')
    return { type: 'comprehension', at, makes: 'array', key: undefined, head, body }
  }
  if (!cursor.is(']')) cursor.expect(',')
  return { type: 'array', at, items: [head, ...parseList(cursor, ']')] }
}

/** A set, an object, or a comprehension of either. */
function parseBraces(cursor: Cursor): Term {
  const { at } = cursor.expect('{')
  if (cursor.skip('}')) return { type: 'object', at, entries: [] }
  const first = parseTerm(cursor, { isHead: true })
  if (cursor.skip(':')) return parseObject(cursor, at, first)
  if (cursor.skip('|')) {
    const body = cursor.reading.readBody(cursor)
    cursor.expect('}')
    return { type: 'comprehension', at, makes: 'set', key: undefined, head: first, body }
  }
  if (!cursor.is('}')) cursor.expect(',')
  return { type: 'set', at, items: [first, ...parseList(cursor, '}')] }
}

function parseObject(cursor: Cursor, at: number, key: Term): Term {
  const head = parseTerm(cursor, { isHead: true })
  if (cursor.skip('|')) {
    const body = cursor.reading.readBody(cursor)
    cursor.expect('}')
    return { type: 'comprehension', at, makes: 'object', key, head, body }
  }
  const entries: (readonly [Term, Term])[] = [[key, head]]
  if (!cursor.is('}')) cursor.expect(',')
  while (!cursor.skip('}')) {
    const name = parseTerm(cursor)
    cursor.expect(':')
    entries.push([name, parseTerm(cursor)])
    if (!cursor.is('}')) cursor.expect(',')
  }
  return { type: 'object', at, entries }
}

function parseTemplate(cursor: Cursor, token: Token): Term {
  const parts = (token.parts ?? []).map((piece): string | TemplateExpression => {
    if (typeof piece === 'string') return piece
    const inner = new Cursor(cursor.reading, piece)
    const term = parseTerm(inner)
    const modifiers = parseWith(inner)
    if (inner.token.kind !== 'end') inner.failHere('expected `}`')
    return { term, with: modifiers }
  })
  return { type: 'template', at: token.at, parts: parts.filter((part) => part !== '') }
}

/** `with target as value`, any number of them. */
export function parseWith(cursor: Cursor): readonly With[] {
  const modifiers: With[] = []
  while (cursor.isKeyword('with')) {
    const { at } = cursor.take()
    const target = parsePrimary(cursor)
    if (!cursor.skipKeyword('as')) cursor.failHere('expected `as`')
    modifiers.push({ at, target, value: parseTerm(cursor) })
  }
  return modifiers
}
