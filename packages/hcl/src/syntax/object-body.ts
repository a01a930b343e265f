import { joinSpans, type Span } from '../text/source.ts'
import type { Attribute, Block, Body, Expression, ObjectExpression, ObjectItem } from './tree.ts'

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
