import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  createCollector,
  toSortedDiagnostics,
  type Diagnostic,
  type DiagnosticCollector,
} from '../text/diagnostic.ts'
import { makeSource, type Source } from '../text/source.ts'
import { makeCursor, peek, reportNext, skipNewlines, type Cursor } from './cursor.ts'
import { parseItems } from './parse-body.ts'
import { parseExpressionAt } from './parse-expression.ts'
import { parseBareTemplate } from './parse-template.ts'
import { scan } from './scan.ts'
import type { Body, Expression } from './tree.ts'

/** Parses a file in native syntax. */
export function parseHcl(text: string, file: string): Result<Body, readonly Diagnostic[]> {
  return run(makeSource(file, text), (cursor) => {
    const { source } = cursor
    const anchor = { source, start: 0, end: 0 }
    const items = parseItems(cursor, 'end')
    return { syntax: 'native', ...items, anchor, span: { source, start: 0, end: text.length } }
  })
}

/** Parses a single expression, such as the value of a variable on a command line. */
export function parseExpression(
  text: string,
  file: string,
): Result<Expression, readonly Diagnostic[]> {
  return run(makeSource(file, text), (cursor) => {
    skipNewlines(cursor)
    const expression = parseExpressionAt(cursor)
    if (expression === undefined) return undefined
    skipNewlines(cursor)
    if (peek(cursor).kind === 'end') return expression
    const detail = 'Expected the end of the expression, but found {found}.'
    return reportNext(cursor, 'Extra characters after expression', detail)
  })
}

/** Parses a text that is a template as a whole, without quotes and escapes. */
export function parseTemplate(
  text: string,
  file: string,
): Result<Expression, readonly Diagnostic[]> {
  const problems = createCollector()
  const expression = parseTemplateOf(makeSource(file, text), problems)
  return finish(expression, problems)
}

/** Parses a template inside another text; reports to the caller's collector. */
export function parseTemplateOf(
  source: Source,
  problems: DiagnosticCollector,
): Expression | undefined {
  const tokens = scan(source, 'template', problems)
  if (tokens === undefined) return undefined
  return parseBareTemplate(
    makeCursor({ source, tokens, problems, parseExpression: parseExpressionAt }),
  )
}

function run<T>(
  source: Source,
  parseAt: (cursor: Cursor) => T | undefined,
): Result<T, readonly Diagnostic[]> {
  const problems = createCollector()
  const tokens = scan(source, 'code', problems)
  if (tokens === undefined) return finish<T>(undefined, problems)
  const cursor = makeCursor({ source, tokens, problems, parseExpression: parseExpressionAt })
  return finish(parseAt(cursor), problems)
}

function finish<T>(
  tree: T | undefined,
  problems: DiagnosticCollector,
): Result<T, readonly Diagnostic[]> {
  if (tree === undefined || problems.items.length > 0) return err(toSortedDiagnostics(problems))
  return ok(tree)
}
