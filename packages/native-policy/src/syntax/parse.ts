import { Cursor } from './cursor.ts'
import { parseExpression, parseName } from './parse-expression.ts'
import { parseBlock, parseStatements } from './parse-statement.ts'
import { scan } from './scan.ts'
import type { Source } from './source.ts'
import type { Expression, ImportDeclaration, ParamDeclaration, Tree } from './ast.ts'

const IDENTIFIER = /^[\p{L}_][\p{L}_\p{Nd}]*$/u

/** Parses a policy or module. Throws a `NativeSyntaxError`. */
export function parseHcl(source: Source): Tree {
  const cursor = new Cursor(source, scan(source), parseBlock)
  const description = cursor.token.description ?? ''
  cursor.skipEnds()
  const imports: ImportDeclaration[] = []
  while (cursor.is('import')) {
    imports.push(parseImport(cursor))
    cursor.endStatement()
  }
  const params: ParamDeclaration[] = []
  while (cursor.is('param')) {
    params.push(parseParam(cursor))
    cursor.endStatement()
  }
  const statements = parseStatements(cursor)
  if (!cursor.isKind('end-of-text')) cursor.fail('a statement is expected')
  return { description, imports, params, statements, warnings: cursor.warnings }
}

function parseImport(cursor: Cursor): ImportDeclaration {
  const { start } = cursor.advance()
  const path = cursor.expectKind('string', 'the name of the import, in quotes,').text
  const alias = cursor.take('as') === undefined ? undefined : parseName(cursor, 'an alias').name
  const name = alias ?? (IDENTIFIER.test(path) ? path : undefined)
  return { spot: cursor.spotFrom(start), path, name }
}

function parseParam(cursor: Cursor): ParamDeclaration {
  const { start, description } = cursor.advance()
  const { name } = parseName(cursor, 'the name of the parameter')
  const fallback = cursor.take('default') === undefined ? undefined : parseConstant(cursor)
  return { spot: cursor.spotFrom(start), name, fallback, description: description ?? '' }
}

/** Parses the default value of a parameter, which must be a constant. */
function parseConstant(cursor: Cursor): Expression {
  const value = parseExpression(cursor)
  if (!isConstant(value)) cursor.failAt(value.spot.start, 'the default of a param is a constant')
  return value
}

function isConstant(value: Expression): boolean {
  switch (value.kind) {
    case 'int':
    case 'float':
    case 'string':
      return true
    case 'name':
      return value.name === 'true' || value.name === 'false'
    case 'unary':
      return value.operator !== 'not' && isConstant(value.operand)
    case 'list':
      return value.items.every(isConstant)
    case 'map':
      return value.entries.every((entry) => isConstant(entry.key) && isConstant(entry.value))
    default:
      return false
  }
}
