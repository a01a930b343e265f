import { ok, type Result } from '@reeve/kit/result.ts'
import type { Binding, Expression, FilterError, Match, Quantifier, Selector } from './ast.ts'
import { MAX_DEPTH, MAX_NODES, MAX_TEXT_LENGTH } from './limits.ts'
import {
  attempt,
  recordSpecificError,
  syntaxError,
  syntaxErrorAt,
  skipSpace,
  createCursor,
  take,
  takeEnd,
  takePhrase,
  takeSpace,
  type Cursor,
  takeNumber,
  takePattern,
  takeString,
} from './scan.ts'

/** Parses a filter with one function per grammar rule, alternatives in the order of the grammar. */
export function parseFilter(text: string): Result<Expression, FilterError> {
  if (text.length > MAX_TEXT_LENGTH)
    return syntaxErrorAt(text, 0, `the expression is longer than ${MAX_TEXT_LENGTH} characters`)
  const parser: Parser = { ...createCursor(text), nodes: 0, depth: 0, excess: undefined }
  skipSpace(parser)
  const expression = parseOr(parser)
  if (parser.excess !== undefined) return syntaxErrorAt(text, parser.excess.at, parser.excess.what)
  if (expression === undefined) return syntaxError(parser)
  skipSpace(parser)
  return takeEnd(parser) ? ok(expression) : syntaxError(parser)
}

interface Parser extends Cursor {
  nodes: number
  depth: number
  /** An exceeded limit. It ends parsing: no other alternative can succeed. */
  excess: { readonly at: number; readonly what: string } | undefined
}

/**
 * `or = and _ "or" _ or | and | collection`: a quantifier may only end a chain. The chain is parsed
 * in a loop and folded to the right, so its length uses no stack.
 */
function parseOr(parser: Parser): Expression | undefined {
  const operands: Expression[] = []
  do {
    const operand = parseAnd(parser)
    if (operand === undefined) {
      const quantifier = attempt(parser, parseQuantifier)
      return quantifier && foldRight(parser, 'or', [...operands, quantifier])
    }
    operands.push(operand)
  } while (takeConnective(parser, 'or'))
  return foldRight(parser, 'or', operands)
}

function parseAnd(parser: Parser): Expression | undefined {
  const operands: Expression[] = []
  do {
    const operand = parseNot(parser)
    if (operand === undefined) return undefined
    operands.push(operand)
  } while (takeConnective(parser, 'and'))
  return foldRight(parser, 'and', operands)
}

function takeConnective(parser: Parser, word: 'and' | 'or'): boolean {
  const isTaken = (cursor: Cursor) => (takePhrase(cursor, [word]) && takeSpace(cursor)) || undefined
  return attempt(parser, isTaken) ?? false
}

function foldRight(
  parser: Parser,
  kind: 'and' | 'or',
  operands: readonly Expression[],
): Expression | undefined {
  const last = operands.at(-1)
  return operands
    .slice(0, -1)
    .reduceRight<Expression | undefined>(
      (right, left) => right && countNode(parser, { kind, left, right }),
      last,
    )
}

/** Falls back to a match, because a match may also start with the value `not`: `not in Tags`. */
function parseNot(parser: Parser): Expression | undefined {
  return (
    attempt(parser, parseNegation) ?? attempt(parser, parseGroup) ?? attempt(parser, parseMatch)
  )
}

function parseNegation(parser: Parser): Expression | undefined {
  if (!take(parser, 'not') || !takeSpace(parser)) return undefined
  const operand = parseNested(parser, parseNot)
  return operand && countNode(parser, { kind: 'not', operand })
}

function parseGroup(parser: Parser): Expression | undefined {
  if (!take(parser, '(')) return undefined
  skipSpace(parser)
  const inner = parseNested(parser, parseOr)
  if (inner === undefined) return undefined
  skipSpace(parser)
  return take(parser, ')') ? inner : undefined
}

function parseQuantifier(parser: Parser): Quantifier | undefined {
  const kind = take(parser, 'any') ? 'any' : take(parser, 'all') ? 'all' : undefined
  if (kind === undefined || !takeSpace(parser)) return undefined
  const selector = takeSelector(parser)
  if (selector === undefined || !takePhrase(parser, ['as']) || !takeSpace(parser)) return undefined
  const binding = takeBinding(parser)
  if (binding === undefined) return undefined
  skipSpace(parser)
  if (!take(parser, '{')) return undefined
  skipSpace(parser)
  const body = parseNested(parser, parseOr)
  if (body === undefined) return undefined
  skipSpace(parser)
  return take(parser, '}') ? countNode(parser, { kind, selector, binding, body }) : undefined
}

function takeBinding(parser: Parser): Binding | undefined {
  if (take(parser, '_')) {
    const value = takeComma(parser) && takeIdentifier(parser)
    return value === undefined ? undefined : { form: 'pair', key: undefined, value }
  }
  const first = takeIdentifier(parser)
  if (first === undefined) return undefined
  if (attempt(parser, takeComma) === undefined) return { form: 'single', name: first }
  const value = takeIdentifier(parser)
  if (value === undefined && !take(parser, '_')) return undefined
  // The second variable would hide the first.
  if (value === first) return undefined
  return { form: 'pair', key: first, value }
}

function takeComma(parser: Parser): true | undefined {
  skipSpace(parser)
  if (!take(parser, ',')) return undefined
  skipSpace(parser)
  return true
}

function parseMatch(parser: Parser): Match | undefined {
  const match =
    attempt(parser, takeComparison) ?? attempt(parser, takeUnary) ?? attempt(parser, takeMembership)
  return match && countNode(parser, match)
}

const COMPARISONS = [
  { words: ['contains'], operator: 'in', negated: false },
  { words: ['not', 'contains'], operator: 'in', negated: true },
  { words: ['matches'], operator: 'matches', negated: false },
  { words: ['not', 'matches'], operator: 'matches', negated: true },
] as const

/** Parses `selector cmp value`. Only `==` and `!=` may omit the spaces. */
function takeComparison(parser: Parser): Match | undefined {
  const selector = takeSelector(parser)
  if (selector === undefined) return undefined
  const found =
    attempt(parser, takeEquality) ??
    COMPARISONS.find((comparison) => takePhrase(parser, comparison.words))
  if (found === undefined) return undefined
  if (found.operator === 'equal') skipSpace(parser)
  else if (!takeSpace(parser)) return undefined
  const value = takeValue(parser)
  if (value === undefined) return undefined
  return { kind: 'match', operator: found.operator, negated: found.negated, selector, value }
}

function takeEquality(parser: Parser) {
  skipSpace(parser)
  const negated = !take(parser, '==')
  if (negated && !take(parser, '!=')) return undefined
  return { operator: 'equal', negated } as const
}

const UNARIES = [
  { words: ['is', 'empty'], operator: 'empty', negated: false },
  { words: ['is', 'nil'], operator: 'nil', negated: false },
  { words: ['is', 'not', 'empty'], operator: 'empty', negated: true },
  { words: ['is', 'not', 'nil'], operator: 'nil', negated: true },
] as const

function takeUnary(parser: Parser): Match | undefined {
  const selector = takeSelector(parser)
  if (selector === undefined) return undefined
  const found = UNARIES.find((unary) => takePhrase(parser, unary.words))
  if (found === undefined) return undefined
  return { kind: 'match', operator: found.operator, negated: found.negated, selector }
}

/** Parses `value in selector`. */
function takeMembership(parser: Parser): Match | undefined {
  const value = takeValue(parser)
  if (value === undefined) return undefined
  const negated = !takePhrase(parser, ['in'])
  if (negated && !takePhrase(parser, ['not', 'in'])) return undefined
  if (!takeSpace(parser)) return undefined
  const selector = takeSelector(parser)
  if (selector === undefined) recordSpecificError(parser, 'rule "match": Invalid selector')
  return selector && { kind: 'match', operator: 'in', negated, selector, value }
}

function countNode<T extends Expression>(parser: Parser, expression: T): T | undefined {
  parser.nodes += 1
  if (parser.nodes > MAX_NODES)
    exceedLimit(parser, `the expression has more than ${MAX_NODES} parts`)
  return parser.excess === undefined ? expression : undefined
}

function parseNested(
  parser: Parser,
  parse: (parser: Parser) => Expression | undefined,
): Expression | undefined {
  if (parser.depth >= MAX_DEPTH)
    exceedLimit(parser, `the expression nests deeper than ${MAX_DEPTH} levels`)
  if (parser.excess !== undefined) return undefined
  parser.depth += 1
  const expression = parse(parser)
  parser.depth -= 1
  return expression
}

function exceedLimit(parser: Parser, what: string): void {
  parser.excess ??= { at: parser.at, what }
}

/** Selectors and values, the two sides of a match. */

const IDENTIFIER = /[a-zA-Z][a-zA-Z0-9_/]*/y
const DIGITS = /[0-9]+/y
const SEGMENT = /[\p{L}\p{N}\-_.~:|]+/uy

function takeIdentifier(cursor: Cursor): string | undefined {
  return takePattern(cursor, IDENTIFIER, '[a-zA-Z]')
}

function takeSelector(cursor: Cursor): Selector | undefined {
  return attempt(cursor, takeDotted) ?? attempt(cursor, takePointer)
}

function takeDotted(cursor: Cursor): Selector | undefined {
  const first = takeIdentifier(cursor)
  if (first === undefined) return undefined
  const path = [first]
  for (;;) {
    const part = attempt(cursor, takeMember) ?? attempt(cursor, takeIndex)
    if (part === undefined) return { form: 'dotted', path }
    path.push(part)
  }
}

function takeMember(cursor: Cursor): string | undefined {
  if (!take(cursor, '.')) return undefined
  return takeIdentifier(cursor) ?? takePattern(cursor, DIGITS, '[0-9]')
}

function takeIndex(cursor: Cursor): string | undefined {
  if (!take(cursor, '[')) return undefined
  skipSpace(cursor)
  const start = cursor.at
  const key = takeString(cursor)
  if (key === undefined) {
    if (cursor.at === start) recordSpecificError(cursor, 'rule "index": Invalid index')
    return undefined
  }
  skipSpace(cursor)
  if (take(cursor, ']')) return key
  recordSpecificError(cursor, 'rule "index": Unclosed index expression')
  return undefined
}

/** The JSON pointer form: a quoted path in which `~1` is a slash and `~0` a tilde. */
function takePointer(cursor: Cursor): Selector | undefined {
  if (!take(cursor, '"')) return undefined
  const path: string[] = []
  while (take(cursor, '/')) {
    const segment = takePattern(cursor, SEGMENT, '[\\pL\\pN-_.~:|]')
    if (segment === undefined) return undefined
    path.push(segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return take(cursor, '"') ? { form: 'pointer', path } : undefined
}

/** A value is a string: an unquoted word (possibly with dots) is itself, a number its digits. */
function takeValue(cursor: Cursor): string | undefined {
  return (
    attempt(cursor, takeDotted)?.path.join('.') ??
    attempt(cursor, takeNumber) ??
    attempt(cursor, takeString)
  )
}
