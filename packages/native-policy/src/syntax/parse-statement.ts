import type { Cursor } from './cursor.ts'
import {
  parseExpression,
  parseFunctionRest,
  parseLoopVariables,
  parseName,
} from './parse-expression.ts'
import type { Token } from './token.ts'
import type {
  ArithmeticOperator,
  AssignStatement,
  CaseClause,
  Expression,
  IfStatement,
  Name,
  Statement,
} from './ast.ts'

const ASSIGNMENTS: Readonly<Record<string, ArithmeticOperator | undefined>> = {
  '=': undefined,
  '+=': '+',
  '-=': '-',
  '*=': '*',
  '/=': '/',
  '%=': '%',
}

/** Parses statements up to the end of the text or a closing brace. */
export function parseStatements(cursor: Cursor): readonly Statement[] {
  const statements: Statement[] = []
  cursor.skipEnds()
  while (!cursor.isKind('end-of-text') && !cursor.is('}')) {
    statements.push(parseStatement(cursor))
    cursor.endStatement()
  }
  return statements
}

export function parseBlock(cursor: Cursor): readonly Statement[] {
  cursor.expect('{', 'before the block')
  const statements = parseStatements(cursor)
  cursor.expect('}', 'after the block')
  return statements
}

function parseStatement(cursor: Cursor): Statement {
  return cursor.nested(() => {
    const { token } = cursor
    if (token.kind !== 'word') return parseAssignOrExpression(cursor)
    switch (token.text) {
      case 'if':
        return parseIf(cursor)
      case 'case':
        return parseCase(cursor)
      case 'for':
        return parseFor(cursor)
      case 'return':
        return parseReturn(cursor)
      case 'break':
      case 'continue':
        cursor.advance()
        return { kind: token.text, spot: cursor.spotFrom(token.start) }
      case 'func':
        return cursor.peek(1).kind === 'identifier'
          ? parseNamedFunction(cursor)
          : parseAssignOrExpression(cursor)
      case 'import':
        return cursor.failAt(token.start, 'an import belongs to the top of the text')
      case 'param':
        return cursor.failAt(token.start, 'a param belongs before the first statement')
      default:
        return parseAssignOrExpression(cursor)
    }
  })
}

function parseIf(cursor: Cursor): IfStatement {
  const { start } = cursor.advance()
  const condition = parseExpression(cursor)
  const consequence = parseBlock(cursor)
  const hasElse = cursor.take('else') !== undefined
  const otherwise = hasElse ? parseElse(cursor) : []
  return { kind: 'if', spot: cursor.spotFrom(start), condition, consequence, otherwise, hasElse }
}

function parseElse(cursor: Cursor): readonly Statement[] {
  return cursor.is('if') ? [cursor.nested(() => parseIf(cursor))] : parseBlock(cursor)
}

function parseCase(cursor: Cursor): Statement {
  const { start } = cursor.advance()
  const subject = cursor.is('{') ? undefined : parseExpression(cursor)
  cursor.expect('{', 'before the clauses')
  cursor.skipEnds()
  const clauses: CaseClause[] = []
  while (cursor.take('when') !== undefined) clauses.push(parseClause(cursor))
  const otherwise = cursor.take('else') === undefined ? undefined : parseClauseBody(cursor)
  cursor.expect('}', 'after the clauses')
  return { kind: 'case', spot: cursor.spotFrom(start), subject, clauses, otherwise }
}

function parseClause(cursor: Cursor): CaseClause {
  const values: Expression[] = [parseExpression(cursor)]
  while (cursor.take(',') !== undefined) {
    cursor.skipImplied()
    values.push(parseExpression(cursor))
  }
  return { values, body: parseClauseBody(cursor) }
}

/** Parses statements after the colon, up to the next clause or the end. */
function parseClauseBody(cursor: Cursor): readonly Statement[] {
  cursor.expect(':', 'before the statements of the clause')
  cursor.skipEnds()
  const statements: Statement[] = []
  while (!cursor.is('when') && !cursor.is('else') && !cursor.is('}')) {
    if (cursor.isKind('end-of-text')) cursor.fail('"}" is expected after the clauses')
    statements.push(parseStatement(cursor))
    if (!cursor.is('when') && !cursor.is('else')) cursor.endStatement()
  }
  return statements
}

function parseFor(cursor: Cursor): Statement {
  const { start } = cursor.advance()
  const collection = parseExpression(cursor)
  const variables = parseLoopVariables(cursor)
  const body = parseBlock(cursor)
  return { kind: 'for', spot: cursor.spotFrom(start), collection, variables, body }
}

function parseReturn(cursor: Cursor): Statement {
  const { start } = cursor.advance()
  const value = parseExpression(cursor)
  return { kind: 'return', spot: cursor.spotFrom(start), value }
}

function parseNamedFunction(cursor: Cursor): Statement {
  const { start } = cursor.advance()
  const name = parseName(cursor, 'the name of the function')
  const value = parseFunctionRest(cursor, start)
  return { kind: 'named-function', spot: cursor.spotFrom(start), name, value }
}

function parseAssignOrExpression(cursor: Cursor): Statement {
  const first = cursor.token
  const left = parseExpression(cursor)
  const { token } = cursor
  if (token.kind !== 'mark' || !Object.hasOwn(ASSIGNMENTS, token.text))
    return { kind: 'expression', spot: left.spot, value: left }
  return parseAssignment(cursor, { first, left })
}

function parseAssignment(
  cursor: Cursor,
  { first, left }: { readonly first: Token; readonly left: Expression },
): AssignStatement {
  const { target, path } = targetOf(cursor, left)
  const at = cursor.token.start
  const operator = ASSIGNMENTS[cursor.advance().text]
  const value = parseExpression(cursor)
  const description = first.description ?? ''
  const spot = cursor.spotFrom(first.start, at)
  return { kind: 'assign', spot, target, path, operator, value, description }
}

function targetOf(cursor: Cursor, left: Expression): { target: Name; path: Expression[] } {
  const path: Expression[] = []
  let rest = left
  while (rest.kind === 'index') {
    path.unshift(rest.index)
    rest = rest.operand
  }
  if (rest.kind === 'name') return { target: { name: rest.name, spot: rest.spot }, path }
  const hint = rest.kind === 'select' ? ': write x["name"] = … instead of x.name = …' : ''
  return cursor.failAt(left.spot.start, `nothing can be assigned to this expression${hint}`)
}
