import { BODY_LITERALS_MAX } from '../limits.ts'
import type { Cursor } from './cursor.ts'
import { nameOf, parseStatementTerm, parseTerm, parseWith } from './parse-term.ts'
import type { Body, Literal, Module, NotLiteral, Term, VarTerm } from './ast.ts'

/** Literals up to what closes the body; `;` or a line end stands between two of them. */
export function parseBody(cursor: Cursor): Body {
  return cursor.nested(() => {
    const literals: Literal[] = []
    for (;;) {
      if (literals.length >= BODY_LITERALS_MAX) cursor.failHere('the body has too many literals')
      literals.push(parseLiteral(cursor))
      const hasSemicolon = cursor.skip(';')
      if (isBodyEnd(cursor)) return literals
      if (!hasSemicolon && cursor.token.row === cursor.previous.row)
        cursor.failHere('expected `;` or a line end')
    }
  })
}

function isBodyEnd(cursor: Cursor): boolean {
  return cursor.token.kind === 'end' || cursor.is('}') || cursor.is(']')
}

/** `{ … }` */
export function parseBracedBody(cursor: Cursor): Body {
  const { at } = cursor.expect('{')
  if (cursor.is('}')) cursor.failHere('the body is empty')
  const body = parseBody(cursor)
  cursor.expect('}')
  // Only now: braces that are tried as a body and are none must not count as one.
  cursor.reading.bodyStarts.add(at)
  return body
}

function parseLiteral(cursor: Cursor): Literal {
  return cursor.nested(() => {
    const literal = parseLogic(cursor, 0)
    const modifiers = parseWith(cursor)
    if (modifiers.length === 0) return literal
    if (literal.type === 'some') cursor.failHere('`some` cannot be modified')
    return { ...literal, with: [...literal.with, ...modifiers] }
  })
}

/** Loosest first. */
const LOGIC = ['or', 'and'] as const

function parseLogic(cursor: Cursor, level: number): Literal {
  const word = LOGIC[level]
  if (word === undefined) return parseSimple(cursor)
  let left = parseOperand(cursor, level)
  while (cursor.isKeyword(word)) {
    cursor.take()
    const right = parseOperand(cursor, level)
    left = [{ type: word, at: left[0]?.at ?? 0, left, right, with: [] }]
  }
  const only = left[0]
  if (left.length === 1 && only !== undefined && !isExplicit(left)) return only
  return cursor.failHere('expected `and` or `or` after a body')
}

const explicitBodies = new WeakSet<Body>()

function isExplicit(body: Body): boolean {
  return explicitBodies.has(body)
}

function parseOperand(cursor: Cursor, level: number): Body {
  if (level === LOGIC.length - 1 && isLogicGroup(cursor)) return [parseGroup(cursor)]
  if (!cursor.is('{') || !isLogicBody(cursor)) return [parseLogic(cursor, level + 1)]
  if (level + 1 < LOGIC.length && cursor.reading.keywords.has('and')) {
    // The tighter operator takes the body as its own operand.
    const after = cursor.afterBraces(0)
    if (cursor.isKeyword('and', after)) return [parseLogic(cursor, level + 1)]
  }
  const body = parseBracedBody(cursor)
  explicitBodies.add(body)
  return body
}

/** `(a or b)`: parentheses around what only a literal can hold. */
function parseGroup(cursor: Cursor): Literal {
  cursor.expect('(')
  const literal = parseLiteral(cursor)
  cursor.expect(')')
  return literal
}

function isLogicGroup(cursor: Cursor): boolean {
  if (!cursor.is('(') || !hasLogic(cursor)) return false
  let parentheses = 0
  let others = 0
  for (let ahead = 0; ; ahead++) {
    const { kind, text } = cursor.peek(ahead)
    if (kind === 'end') return false
    if (kind === 'mark') {
      if (text === '(') parentheses++
      if (text === ')' && --parentheses === 0) return false
      if (text === '[' || text === '{') others++
      if (text === ']' || text === '}') others--
    } else if (others === 0 && ['and', 'or', 'with'].some((word) => cursor.isKeyword(word, ahead)))
      return true
  }
}

function hasLogic(cursor: Cursor): boolean {
  const { keywords } = cursor.reading
  return keywords.has('and') || keywords.has('or')
}

/** Braces are a body when an operator follows or came before, and nothing continues a term. */
function isLogicBody(cursor: Cursor): boolean {
  if (!hasLogic(cursor)) return false
  const after = cursor.afterBraces(0)
  if (cursor.isKeyword('and', after) || cursor.isKeyword('or', after)) return true
  const { previous } = cursor
  const isRight = previous.kind === 'name' && (previous.text === 'and' || previous.text === 'or')
  return isRight && isLiteralEnd(cursor, after)
}

function isLiteralEnd(cursor: Cursor, ahead: number): boolean {
  const token = cursor.peek(ahead)
  if (token.kind === 'end' || token.row > cursor.peek(ahead - 1).row) return true
  if (token.kind === 'mark') return ['}', ']', ')', ';'].includes(token.text)
  return cursor.isKeyword('with', ahead)
}

function parseSimple(cursor: Cursor): Literal {
  if (cursor.isKeyword('some')) return parseSome(cursor)
  if (cursor.isKeyword('every')) return parseEvery(cursor)
  if (cursor.isKeyword('not')) return parseNot(cursor)
  return parseExpression(cursor)
}

function parseNot(cursor: Cursor): NotLiteral {
  const { at } = cursor.take()
  const isScoped = cursor.reading.keywords.has('not')
  if (cursor.isKeyword('some') || cursor.isKeyword('every') || cursor.isKeyword('not'))
    cursor.failHere('`not` takes an expression')
  if (isLogicGroup(cursor))
    return { type: 'not', at, isScoped: true, body: [parseGroup(cursor)], with: [] }
  if (isScoped && cursor.is('{') && isLiteralEndOrLogic(cursor))
    return { type: 'not', at, isScoped, body: parseBracedBody(cursor), with: [] }
  return { type: 'not', at, isScoped, body: [parseExpression(cursor)], with: [] }
}

function isLiteralEndOrLogic(cursor: Cursor): boolean {
  const after = cursor.afterBraces(0)
  return (
    isLiteralEnd(cursor, after) || cursor.isKeyword('and', after) || cursor.isKeyword('or', after)
  )
}

/** A term, or two with `=` or `:=` between them. */
function parseExpression(cursor: Cursor): Literal {
  const left = parseStatementTerm(cursor)
  const { at } = left
  if (cursor.skip('='))
    return { type: 'unify', at, declares: false, left, right: parseStatementTerm(cursor), with: [] }
  if (cursor.skip(':='))
    return { type: 'unify', at, declares: true, left, right: parseStatementTerm(cursor), with: [] }
  return { type: 'expression', at, term: left, with: [] }
}

function parseSome(cursor: Cursor): Literal {
  const { at } = cursor.take()
  const terms = [parsePattern(cursor)]
  while (cursor.skip(',')) terms.push(parsePattern(cursor))
  if (!cursor.isKeyword('in'))
    return { type: 'some', at, names: terms.map((term) => asName(cursor, term)), with: [] }
  cursor.take()
  const [first, second, third] = terms
  if (first === undefined || third !== undefined)
    cursor.fail(at, '`some … in` takes a key and a value')
  const domain = parseTerm(cursor)
  return second === undefined
    ? { type: 'some-in', at, key: undefined, value: first, domain, with: [] }
    : { type: 'some-in', at, key: first, value: second, domain, with: [] }
}

function parsePattern(cursor: Cursor): Term {
  return parseTerm(cursor, { withoutIn: true })
}

function asName(cursor: Cursor, term: Term): VarTerm {
  if (term.type !== 'var') cursor.fail(term.at, 'expected a name')
  return term
}

function parseEvery(cursor: Cursor): Literal {
  const { at } = cursor.take()
  const first = parseVariable(cursor)
  const second = cursor.skip(',') ? parseVariable(cursor) : undefined
  if (!cursor.skipKeyword('in')) cursor.failHere('expected `in`')
  const domain = parseTerm(cursor)
  const body = parseBracedBody(cursor)
  const key = second === undefined ? undefined : first
  return { type: 'every', at, key, value: second ?? first, domain, body, with: [] }
}

function parseVariable(cursor: Cursor): VarTerm {
  const { token } = cursor
  if (token.kind !== 'name' || cursor.isAnyKeyword()) cursor.failHere('expected a name')
  cursor.take()
  return { type: 'var', at: token.at, name: nameOf(cursor, token.text) }
}

/** `if` and a body, in braces or of one literal. */
export function parseCondition(cursor: Cursor): Body {
  if (!cursor.is('{') || !isWholeBody(cursor)) return [parseLiteral(cursor)]
  return cursor.attempt(() => parseBracedBody(cursor)) ?? parseObjectCondition(cursor)
}

/** Braces that are no body may be an object: `if {k: v | …}`. Tried only here. */
function parseObjectCondition(cursor: Cursor): Body {
  const literal = cursor.attempt(() => {
    const parsed = parseLiteral(cursor)
    // A set is always true, so `{ a, b }` is a body whose literals are separated wrongly.
    if (parsed.type === 'expression' && parsed.term.type === 'set') cursor.failHere('not a body')
    return parsed
  })
  // If neither form parses, report the error of the body: a body is the likelier intent.
  return literal === undefined ? parseBracedBody(cursor) : [literal]
}

/** Braces after `if` are the body, unless they are the first operand of `and` or `or`. */
function isWholeBody(cursor: Cursor): boolean {
  const after = cursor.afterBraces(0)
  return !cursor.isKeyword('and', after) && !cursor.isKeyword('or', after)
}

/** Position fields, which the comparison ignores. */
const PLACES: ReadonlySet<string> = new Set(['at', 'row', 'column', 'packageAt', 'packageRow'])

/**
 * Reports whether two modules have the same statements and comments, regardless of their positions.
 */
export function isSameProgram(left: Module, right: Module): boolean {
  return isSame(remarked(left), remarked(right))
}

/** Returns the module with comments without trailing white space. */
function remarked(module: Module): Module {
  const comments = module.comments.map((comment) => ({ ...comment, text: comment.text.trimEnd() }))
  return { ...module, comments }
}

/** As deep as a module can be nested. */
function isSame(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return false
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, at) => isSame(item, right[at]))
  const others = membersOf(right)
  const members = [...membersOf(left)]
  return (
    members.length === others.size &&
    members.every(([name, value]) => others.has(name) && isSame(value, others.get(name)))
  )
}

function membersOf(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([name]) => !PLACES.has(name)))
}
