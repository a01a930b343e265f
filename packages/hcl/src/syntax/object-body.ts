import { joinSpans, type Span } from '../text/source.ts'
import type { Attribute, Block, Body, Expression, ObjectExpression, ObjectItem } from './tree.ts'

/** An object read as the body of a block, as the JSON and legacy syntaxes write blocks. */
export function objectAsBody(
  object: ObjectExpression,
  syntax: 'json' | 'legacy',
  anchor: Span,
): Body {
  const attributes = object.items.flatMap(itemAsAttribute)
  return { syntax, attributes, blocks: [], span: object.span, anchor }
}

function itemAsAttribute(item: ObjectItem): readonly Attribute[] {
  // Both syntaxes give every item a name; a computed key exists in native expressions only.
  if (item.name === undefined) return []
  const { keySpan, value, span } = item
  return [{ name: item.name, nameSpan: keySpan, expression: value, span }]
}

/**
 * The reverse, for a legacy block where an attribute is wanted: `meta { a = 1 }` for `meta = { a =
 * 1 }`.
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

/** Labels become levels of objects. */
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
