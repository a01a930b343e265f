import { OPERATOR_CHAIN_MAX } from '../limits.ts'
import { wrapInt } from '../value/value.ts'
import type { Cursor } from './cursor.ts'
import type {
  BinaryOperator,
  Expression,
  FunctionExpression,
  LoopVariables,
  MapEntry,
  Name,
  QuantifierKind,
} from './ast.ts'

/** Binary operators by precedence, lowest first. Level 7 is unary. */
const LEVELS: readonly Readonly<Record<string, BinaryOperator>>[] = [
  { or: 'or', xor: 'xor' },
  { and: 'and' },
  {
    '==': 'is',
    '!=': 'is not',
    '<': '<',
    '<=': '<=',
    '>': '>',
    '>=': '>=',
    in: 'in',
    contains: 'contains',
    matches: 'matches',
  },
  { else: 'else' },
  { '+': '+', '-': '-' },
  { '*': '*', '/': '/', '%': '%' },
]
const COMPARISON_LEVEL = 2
const NEGATED: Readonly<Record<string, BinaryOperator>> = {
  in: 'not in',
  contains: 'not contains',
  matches: 'not matches',
}

export function parseExpression(cursor: Cursor): Expression {
  return cursor.nested(() => parseLevel(cursor, 0))
}

function parseLevel(cursor: Cursor, level: number): Expression {
  if (level === LEVELS.length) return parseUnary(cursor)
  const { start } = cursor.token
  let left = parseLevel(cursor, level + 1)
  for (let count = 0; ; count++) {
    if (count >= OPERATOR_CHAIN_MAX)
      cursor.fail(`at most ${OPERATOR_CHAIN_MAX} operators may follow each other`)
    const next = parseOperation(cursor, level, { left, start })
    if (next === undefined) return left
    left = next
  }
}

/** The left operand of an operator. */
interface Begun {
  readonly left: Expression
  /** Start of its opening parenthesis, if any, so that spans include it. */
  readonly start: number
}

function parseOperation(cursor: Cursor, level: number, begun: Begun): Expression | undefined {
  const { left, start } = begun
  const at = cursor.token.start
  if (level === COMPARISON_LEVEL && cursor.is('is')) return parseIs(cursor, begun)
  const operator = takeOperator(cursor, level)
  if (operator === undefined) return undefined
  const right = parseLevel(cursor, level + 1)
  return { kind: 'binary', spot: cursor.spotFrom(start, at), operator, left, right }
}

function takeOperator(cursor: Cursor, level: number): BinaryOperator | undefined {
  const { kind, text } = cursor.token
  if (kind !== 'word' && kind !== 'mark') return undefined
  if (level === COMPARISON_LEVEL && text === 'not') {
    const negated = cursor.peek(1).kind === 'word' ? NEGATED[cursor.peek(1).text] : undefined
    if (negated === undefined) return undefined
    cursor.advance()
    cursor.advance()
    return negated
  }
  const operators = LEVELS[level] ?? {}
  const operator = Object.hasOwn(operators, text) ? operators[text] : undefined
  if (operator !== undefined) cursor.advance()
  return operator
}

/** Parses `is`, `is not`, and the tests that may replace the right operand: `empty`, `defined`. */
function parseIs(cursor: Cursor, { left, start }: Begun): Expression {
  const at = cursor.advance().start
  const isNegated = cursor.take('not') !== undefined
  const test = takeStateTest(cursor)
  if (test !== undefined)
    return { kind: 'state', spot: cursor.spotFrom(start, at), test, isNegated, operand: left }
  const right = parseLevel(cursor, COMPARISON_LEVEL + 1)
  const operator = isNegated ? 'is not' : 'is'
  return { kind: 'binary', spot: cursor.spotFrom(start, at), operator, left, right }
}

function takeStateTest(cursor: Cursor): 'empty' | 'defined' | undefined {
  if (cursor.take('empty') !== undefined) return 'empty'
  const { kind, text } = cursor.token
  if (kind !== 'identifier' || text !== 'defined') return undefined
  cursor.advance()
  return 'defined'
}

function parseUnary(cursor: Cursor): Expression {
  const { start, text, kind } = cursor.token
  const isUnary =
    (kind === 'mark' && (text === '+' || text === '-' || text === '!')) ||
    (kind === 'word' && text === 'not')
  if (!isUnary) return parsePostfix(cursor)
  cursor.advance()
  return cursor.nested(() => {
    const operand = parseUnary(cursor)
    if (text === '-' && operand.kind === 'int' && operand.spot.start === start + 1)
      return {
        kind: 'int',
        spot: cursor.spotFrom(start),
        value: wrapInt(-BigInt(operand.value)),
      }
    const operator = text === '+' || text === '-' ? text : 'not'
    if (text === 'not') warnAboutNot(cursor, start)
    return { kind: 'unary', spot: cursor.spotFrom(start), operator, operand }
  })
}

/** `not a is b` means `(not a) is b`, which is rarely intended. */
function warnAboutNot(cursor: Cursor, start: number): void {
  const { kind, text } = cursor.token
  const operators = LEVELS[COMPARISON_LEVEL] ?? {}
  const isComparison = text === 'is' || Object.hasOwn(operators, text)
  if ((kind === 'word' || kind === 'mark') && isComparison)
    cursor.warn(
      start,
      `"not" binds tighter than "${text}": write "not (… ${text} …)" to negate the comparison`,
    )
}

function parsePostfix(cursor: Cursor): Expression {
  const { start } = cursor.token
  let operand = parseOperand(cursor)
  for (let count = 0; ; count++) {
    if (count >= OPERATOR_CHAIN_MAX)
      cursor.fail(`at most ${OPERATOR_CHAIN_MAX} selectors may follow each other`)
    const next = parseSuffix(cursor, { left: operand, start })
    if (next === undefined) return operand
    operand = next
  }
}

function parseSuffix(cursor: Cursor, begun: Begun): Expression | undefined {
  const { left: operand, start } = begun
  const at = cursor.token.start
  if (cursor.take('.') !== undefined) {
    const name = cursor.expectKind('identifier', 'a name after "."').text
    return { kind: 'select', spot: cursor.spotFrom(start, at), operand, name }
  }
  if (cursor.take('[') !== undefined) return parseBrackets(cursor, begun, at)
  if (cursor.take('(') === undefined) return undefined
  const args = parseList(cursor, ')', () => parseExpression(cursor))
  return { kind: 'call', spot: cursor.spotFrom(start, at), callee: operand, args }
}

function parseBrackets(cursor: Cursor, { left: operand, start }: Begun, at: number): Expression {
  const from = cursor.is(':') ? undefined : parseExpression(cursor)
  if (cursor.take(':') !== undefined) {
    const to = cursor.is(']') ? undefined : parseExpression(cursor)
    cursor.skipImplied()
    cursor.expect(']', 'after the slice')
    return { kind: 'slice', spot: cursor.spotFrom(start, at), operand, from, to }
  }
  cursor.skipImplied()
  cursor.expect(']', 'after the index')
  if (from === undefined) return cursor.fail('an index is expected')
  return { kind: 'index', spot: cursor.spotFrom(start, at), operand, index: from }
}

function parseOperand(cursor: Cursor): Expression {
  const { token } = cursor
  const { start } = token
  switch (token.kind) {
    case 'int':
      cursor.advance()
      return { kind: 'int', spot: cursor.spotFrom(start), value: token.int ?? 0 }
    case 'float':
      cursor.advance()
      return { kind: 'float', spot: cursor.spotFrom(start), value: token.float ?? 0 }
    case 'string':
      cursor.advance()
      return { kind: 'string', spot: cursor.spotFrom(start), value: token.text }
    case 'identifier':
      cursor.advance()
      return { kind: 'name', spot: cursor.spotFrom(start), name: token.text }
    default:
      return parseReserved(cursor)
  }
}

function parseReserved(cursor: Cursor): Expression {
  const { text } = cursor.token
  switch (text) {
    case '(':
      return parseParentheses(cursor)
    case '[':
      return parseListLiteral(cursor)
    case '{':
      return parseMapLiteral(cursor)
    case 'func':
      return parseFunction(cursor)
    case 'rule':
      return parseRule(cursor)
    case 'any':
    case 'all':
    case 'filter':
    case 'map':
      return parseQuantifier(cursor, text)
    default:
      return cursor.fail('an expression is expected')
  }
}

function parseParentheses(cursor: Cursor): Expression {
  cursor.advance()
  const inner = parseExpression(cursor)
  cursor.skipImplied()
  cursor.expect(')', 'to close the parenthesis')
  return inner
}

function parseListLiteral(cursor: Cursor): Expression {
  const { start } = cursor.advance()
  const items = parseList(cursor, ']', () => parseExpression(cursor))
  return { kind: 'list', spot: cursor.spotFrom(start), items }
}

function parseMapLiteral(cursor: Cursor): Expression {
  const { start } = cursor.advance()
  const entries = parseList(cursor, '}', (): MapEntry => {
    const key = parseExpression(cursor)
    cursor.expect(':', 'between key and value')
    return { key, value: parseExpression(cursor) }
  })
  return { kind: 'map', spot: cursor.spotFrom(start), entries }
}

/** Parses items separated by commas up to `close`. A trailing comma is allowed. */
function parseList<T>(cursor: Cursor, close: string, parseItem: () => T): readonly T[] {
  const items: T[] = []
  cursor.skipImplied()
  while (!cursor.is(close)) {
    items.push(parseItem())
    cursor.skipImplied()
    if (cursor.is(close)) break
    cursor.expect(',', `or "${close}"`)
    cursor.skipImplied()
  }
  cursor.advance()
  return items
}

function parseFunction(cursor: Cursor): FunctionExpression {
  const { start } = cursor.expect('func', 'here')
  return parseFunctionRest(cursor, start)
}

/** Parses a function after `func` and its optional name. */
export function parseFunctionRest(cursor: Cursor, start: number): FunctionExpression {
  cursor.expect('(', 'before the parameters')
  const parameters = parseList(cursor, ')', () => parseName(cursor, 'a parameter'))
  const body = cursor.nested(() => cursor.block())
  return { kind: 'function', spot: cursor.spotFrom(start), parameters, body }
}

function parseRule(cursor: Cursor): Expression {
  const { start } = cursor.advance()
  const when = cursor.take('when') === undefined ? undefined : parseExpression(cursor)
  const body = parseBody(cursor, 'of the rule')
  return { kind: 'rule', spot: cursor.spotFrom(start), when, body }
}

function parseQuantifier(cursor: Cursor, quantifier: QuantifierKind): Expression {
  const { start } = cursor.advance()
  const collection = parseExpression(cursor)
  const variables = parseLoopVariables(cursor)
  const body = parseBody(cursor, `of "${quantifier}"`)
  const spot = cursor.spotFrom(start)
  return { kind: 'quantifier', spot, quantifier, collection, variables, body }
}

/** Parses exactly one expression in braces. */
function parseBody(cursor: Cursor, of: string): Expression {
  cursor.expect('{', `before the body ${of}`)
  cursor.skipImplied()
  const body = parseExpression(cursor)
  cursor.skipEnds()
  cursor.expect('}', `after the one expression ${of}`)
  return body
}

export function parseLoopVariables(cursor: Cursor): LoopVariables {
  cursor.expect('as', 'before the names of the elements')
  const first = parseName(cursor, 'a name for the elements')
  if (cursor.take(',') === undefined) return { key: undefined, value: first }
  return { key: first, value: parseName(cursor, 'a name for the elements') }
}

export function parseName(cursor: Cursor, what: string): Name {
  const token = cursor.expectKind('identifier', what)
  return { name: token.text, spot: cursor.spotFrom(token.start) }
}
