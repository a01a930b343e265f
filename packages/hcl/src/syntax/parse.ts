import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  createCollector,
  toSortedDiagnostics,
  type Diagnostic,
  type DiagnosticCollector,
} from '../text/diagnostic.ts'
import { joinSpans, makeSource, type Source, type Span } from '../text/source.ts'
import { makeCursor, peek, reportNext, skipNewlines, type Cursor } from './cursor.ts'
import { parseItems } from './parse-body.ts'
import { parseExpressionAt } from './parse-expression.ts'
import { parseBareTemplate } from './parse-template.ts'
import { scan } from './scan.ts'
import type { Attribute, Block, Body, Expression, ObjectExpression, ObjectItem } from './ast.ts'

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

/** Converts an object to the body of a block, which is how JSON and HCL 1 write blocks. */
export function objectAsBody(
  object: ObjectExpression,
  syntax: 'json' | 'legacy',
  anchor: Span,
): Body {
  const attributes = object.items.flatMap(itemAsAttribute)
  return { syntax, attributes, blocks: [], span: object.span, anchor }
}

function itemAsAttribute(item: ObjectItem): readonly Attribute[] {
  // Both syntaxes name every item; computed keys exist only in native expressions.
  if (item.name === undefined) return []
  const { keySpan, value, span } = item
  return [{ name: item.name, nameSpan: keySpan, expression: value, span }]
}

/**
 * Converts an HCL 1 block to an object where the schema has an attribute: `meta { a = 1 }` for
 * `meta = { a = 1 }`.
 */
export function bodyAsObject(body: Body): ObjectExpression {
  const items = [
    ...body.attributes.map((attribute) =>
      makeItem(attribute.name, attribute.nameSpan, attribute.expression),
    ),
    ...body.blocks.map((block) => makeItem(block.type, block.typeSpan, blockAsExpression(block))),
  ]
  items.sort((a, b) => a.span.start - b.span.start)
  return { kind: 'object', items, uniqueNames: false, span: body.span }
}

/** Labels become nested objects. */
export function blockAsExpression(block: Block): Expression {
  let expression: Expression = bodyAsObject(block.body)
  for (const label of block.labels.toReversed()) {
    const items: readonly ObjectItem[] = [makeItem(label.text, label.span, expression)]
    expression = {
      kind: 'object',
      items,
      uniqueNames: false,
      span: joinSpans(label.span, expression.span),
    }
  }
  return expression
}

function makeItem(name: string, nameSpan: Span, value: Expression): ObjectItem {
  const key = { kind: 'literal', value: name, span: nameSpan } as const
  return { key, keySpan: nameSpan, name, value, span: joinSpans(nameSpan, value.span) }
}
