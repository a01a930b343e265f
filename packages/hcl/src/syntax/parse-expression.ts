import { parseNumber } from '@reeve/kit/number.ts'
import { joinSpans } from '../text/source.ts'
import { report } from '../text/diagnostic.ts'
import {
  enter,
  leave,
  peek,
  reportNext,
  spanFrom,
  take,
  takeIf,
  tokenAt,
  tokenText,
  withNewlines,
  type Cursor,
} from './cursor.ts'
import { parseObject, parseTuple } from './parse-collection.ts'
import { parseHeredoc, parseQuoted } from './parse-template.ts'
import { spanOfToken, type Token, type TokenKind } from './token.ts'
import type { BinaryOperator, Expression, Step } from './ast.ts'

/** Parses any expression, starting at the conditional operator. */
export function parseExpressionAt(cursor: Cursor): Expression | undefined {
  if (!enter(cursor)) return undefined
  const expression = parseConditional(cursor)
  leave(cursor)
  return expression
}

function parseConditional(cursor: Cursor): Expression | undefined {
  const condition = parseBinary(cursor, 1)
  if (condition === undefined || takeIf(cursor, '?') === undefined) return condition
  const whenTrue = parseExpressionAt(cursor)
  if (whenTrue === undefined) return undefined
  if (takeIf(cursor, ':') === undefined) {
    const detail = 'A conditional is "condition ? a : b"; expected ":", but found {found}.'
    return reportNext(cursor, 'Missing false expression in conditional', detail)
  }
  const whenFalse = parseExpressionAt(cursor)
  if (whenFalse === undefined) return undefined
  const span = joinSpans(condition.span, whenFalse.span)
  return { kind: 'conditional', condition, whenTrue, whenFalse, span }
}

const OPERATORS: ReadonlyMap<
  TokenKind,
  { readonly operator: BinaryOperator; readonly level: number }
> = new Map(
  (
    [
      ['||'],
      ['&&'],
      ['==', '!='],
      ['<', '>', '<=', '>='],
      ['+', '-'],
      ['*', '/', '%'],
    ] as const satisfies readonly (readonly BinaryOperator[])[]
  ).flatMap((group, index) =>
    group.map((operator) => [operator, { operator, level: index + 1 }] as const),
  ),
)

/**
 * Parses operators of at least this precedence. Operators of equal precedence are left-associative.
 */
function parseBinary(cursor: Cursor, levelMin: number): Expression | undefined {
  let left = parseUnary(cursor)
  while (left !== undefined) {
    const found = OPERATORS.get(peek(cursor).kind)
    if (found === undefined || found.level < levelMin) return left
    take(cursor)
    const right = parseBinary(cursor, found.level + 1)
    if (right === undefined) return undefined
    const span = joinSpans(left.span, right.span)
    left = { kind: 'binary', operator: found.operator, left, right, span }
  }
  return undefined
}

function parseUnary(cursor: Cursor): Expression | undefined {
  const token = peek(cursor)
  if (token.kind !== '-' && token.kind !== '!') return parseTerm(cursor)
  if (!enter(cursor)) return undefined
  take(cursor)
  const operand = parseUnary(cursor)
  leave(cursor)
  if (operand === undefined) return undefined
  const span = { ...operand.span, start: token.start }
  return { kind: 'unary', operator: token.kind, operand, span }
}

function parseTerm(cursor: Cursor): Expression | undefined {
  const base = parsePrimary(cursor)
  if (base === undefined) return undefined
  const steps = parseSteps(cursor)
  if (steps === undefined) return undefined
  const last = steps.at(-1)
  if (last === undefined) return base
  return { kind: 'access', base, steps, span: joinSpans(base.span, last.span) }
}

function parsePrimary(cursor: Cursor): Expression | undefined {
  const token = peek(cursor)
  switch (token.kind) {
    case 'number':
      return parseNumberLiteral(cursor)
    case 'identifier':
      return parseName(cursor)
    case 'quote-open':
      return parseQuoted(cursor)
    case 'heredoc-open':
      return parseHeredoc(cursor)
    case '(':
      return withNewlines(cursor, false, () => parseParentheses(cursor))
    case '[':
      return parseTuple(cursor)
    case '{':
      return parseObject(cursor)
    default:
      return reportNext(
        cursor,
        'Invalid expression',
        'Expected the start of an expression, but found {found}.',
      )
  }
}

function parseNumberLiteral(cursor: Cursor): Expression | undefined {
  const token = take(cursor)
  const span = spanOfToken(cursor.source, token)
  const value = parseNumber(tokenText(cursor, token))
  if (value !== undefined) return { kind: 'literal', value, span }
  const detail = 'Numbers must be below 2 to the power of 1024.'
  return report(cursor.problems, { span, summary: 'Number out of range', detail })
}

const KEYWORDS: ReadonlyMap<string, null | boolean> = new Map<string, null | boolean>([
  ['null', null],
  ['true', true],
  ['false', false],
])

function parseName(cursor: Cursor): Expression | undefined {
  const token = take(cursor)
  const name = tokenText(cursor, token)
  const { kind } = peek(cursor)
  if (kind === '(' || kind === '::') return parseCall(cursor, token)
  const span = spanOfToken(cursor.source, token)
  const value = KEYWORDS.get(name)
  return value === undefined ? { kind: 'variable', name, span } : { kind: 'literal', value, span }
}

function parseCall(cursor: Cursor, first: Token): Expression | undefined {
  while (takeIf(cursor, '::') !== undefined) {
    if (takeIf(cursor, 'identifier') !== undefined) continue
    const detail = 'Expected a name after "::", but found {found}.'
    return reportNext(cursor, 'Invalid function name', detail)
  }
  const nameSpan = spanFrom(cursor, first.start)
  if (peek(cursor).kind !== '(') {
    const detail = 'A name with "::" is a function and needs arguments in parentheses.'
    return reportNext(cursor, 'Missing arguments', detail)
  }
  const name = cursor.source.text.slice(nameSpan.start, nameSpan.end).replaceAll(/[ \t\r\n]/g, '')
  const list = withNewlines(cursor, false, () => parseArguments(cursor))
  if (list === undefined) return undefined
  return { kind: 'call', name, nameSpan, ...list, span: spanFrom(cursor, first.start) }
}

interface Arguments {
  readonly arguments: readonly Expression[]
  readonly expandsLast: boolean
}

function parseArguments(cursor: Cursor): Arguments | undefined {
  const list: Expression[] = []
  take(cursor)
  for (;;) {
    if (takeIf(cursor, ')') !== undefined) return { arguments: list, expandsLast: false }
    const argument = parseExpressionAt(cursor)
    if (argument === undefined) return undefined
    list.push(argument)
    if (takeIf(cursor, '...') !== undefined) {
      if (takeIf(cursor, ')') !== undefined) return { arguments: list, expandsLast: true }
      const detail = '"..." expands the last argument and is followed by ")", but found {found}.'
      return reportNext(cursor, 'Missing closing parenthesis', detail)
    }
    if (takeIf(cursor, ',') !== undefined || peek(cursor).kind === ')') continue
    const detail = 'Expected "," between arguments or ")" after the last one, but found {found}.'
    return reportNext(cursor, 'Missing argument separator', detail)
  }
}

function parseParentheses(cursor: Cursor): Expression | undefined {
  const open = take(cursor)
  const inner = parseExpressionAt(cursor)
  if (inner === undefined) return undefined
  if (takeIf(cursor, ')') !== undefined)
    return { kind: 'parentheses', inner, span: spanFrom(cursor, open.start) }
  const detail = 'Expected ")" to close the parentheses, but found {found}.'
  return reportNext(cursor, 'Unbalanced parentheses', detail)
}

/** Parses everything that may follow a term: `.name`, `.0`, `.*`, `[key]`, `[*]`. */
function parseSteps(cursor: Cursor): readonly Step[] | undefined {
  const steps: Step[] = []
  for (;;) {
    const { kind } = peek(cursor)
    if (kind !== '.' && kind !== '[') return steps
    const found = kind === '.' ? parseDotStep(cursor, true) : parseBracketStep(cursor)
    if (found === undefined) return undefined
    steps.push(...found)
  }
}

function parseDotStep(cursor: Cursor, mayBeSplat: boolean): readonly Step[] | undefined {
  const dot = take(cursor)
  const token = peek(cursor)
  const span = { source: cursor.source, start: dot.start, end: token.end }
  if (token.kind === 'identifier') {
    return [{ kind: 'attribute', name: tokenText(cursor, take(cursor)), span }]
  }
  if (token.kind === 'number') return parseLegacyIndex(cursor)
  if (token.kind === '*' && mayBeSplat) return parseAttributeSplat(cursor, dot)
  const detail =
    token.kind === '*'
      ? 'An attribute splat (".*") may not follow another one. Use "[*]".'
      : 'A dot must be followed by the name of an attribute, but found {found}.'
  return reportNext(cursor, 'Invalid attribute name', detail)
}

/** `a.0.1` is scanned as the number 0.1 but means two index steps. */
function parseLegacyIndex(cursor: Cursor): readonly Step[] | undefined {
  const token = peek(cursor)
  const text = tokenText(cursor, token)
  if (!/^[0-9]+(?:\.[0-9]+)?$/.test(text)) {
    const detail = 'An index after a dot must be a whole number, but found {found}.'
    return reportNext(cursor, 'Invalid legacy index', detail)
  }
  take(cursor)
  const steps: Step[] = []
  let start = token.start
  for (const digits of text.split('.')) {
    const span = { source: cursor.source, start, end: start + digits.length }
    const key = { kind: 'literal', value: parseNumber(digits) ?? null, span } as const
    steps.push({ kind: 'index', key, span: { ...span, start: start - 1 } })
    start = span.end + 1
  }
  return steps
}

/** `.*` applies to the attributes and legacy indexes after it, but not to brackets. */
function parseAttributeSplat(cursor: Cursor, dot: Token): readonly Step[] | undefined {
  take(cursor)
  const each: Step[] = []
  while (peek(cursor).kind === '.') {
    const found = parseDotStep(cursor, false)
    if (found === undefined) return undefined
    each.push(...found)
  }
  return [{ kind: 'splat', each, span: spanFrom(cursor, dot.start) }]
}

function parseBracketStep(cursor: Cursor): readonly Step[] | undefined {
  const open = peek(cursor)
  const isSplat = withNewlines(cursor, false, () => takeSplatBrackets(cursor))
  if (isSplat) return parseFullSplat(cursor, open)
  const key = withNewlines(cursor, false, () => {
    take(cursor)
    const expression = parseExpressionAt(cursor)
    if (expression === undefined || takeIf(cursor, ']') !== undefined) return expression
    const detail = 'Expected "]" to close the index, but found {found}.'
    return reportNext(cursor, 'Missing closing bracket', detail)
  })
  if (key === undefined) return undefined
  return [{ kind: 'index', key, span: spanFrom(cursor, open.start) }]
}

function takeSplatBrackets(cursor: Cursor): boolean {
  if (tokenAt(cursor, 1).kind !== '*' || tokenAt(cursor, 2).kind !== ']') return false
  cursor.index += 3
  return true
}

/** `[*]` applies to everything after it, including another splat. */
function parseFullSplat(cursor: Cursor, open: Token): readonly Step[] | undefined {
  if (!enter(cursor)) return undefined
  const each = parseSteps(cursor)
  leave(cursor)
  if (each === undefined) return undefined
  return [{ kind: 'splat', each, span: spanFrom(cursor, open.start) }]
}
