import { bodyAsObject, objectAsBody } from '../syntax/parse.ts'
import type { Attribute, Block, Body, Expression, Label } from '../syntax/ast.ts'
import { report, type DiagnosticCollector } from '../text/diagnostic.ts'
import { quoteText } from '../text/suggest.ts'

interface UnpackOptions {
  readonly labelNames: readonly string[]
  readonly problems: DiagnosticCollector
}

interface ObjectUnpackOptions extends UnpackOptions {
  readonly syntax: 'json' | 'legacy'
}

/**
 * Expands a property to blocks: one level of objects per label, then the body. A list at any level
 * means several blocks; null and the empty list mean none.
 */
export function unpackBlocks(property: Attribute, options: ObjectUnpackOptions): readonly Block[] {
  const blocks: Block[] = []
  unpackLevel(property.expression, [], { ...options, property, blocks })
  return blocks
}

interface Unpacking extends ObjectUnpackOptions {
  readonly property: Attribute
  readonly blocks: Block[]
}

function unpackLevel(value: Expression, labels: readonly Label[], unpacking: Unpacking): void {
  const { labelNames, problems, property } = unpacking
  if (value.kind === 'tuple') {
    for (const element of value.elements) unpackLevel(element, labels, unpacking)
    return
  }
  if (value.kind === 'literal' && value.value === null) return
  if (value.kind !== 'object') {
    const wanted =
      labels.length < labelNames.length ? 'whose names are labels' : 'or a list of objects'
    const detail = `Blocks of type ${quoteText(property.name)} are written as an object ${wanted}.`
    report(problems, { span: value.span, summary: 'Object required', detail })
    return
  }
  if (labels.length < labelNames.length) {
    for (const item of value.items) {
      if (unpacking.syntax === 'json' && item.name === '//') continue
      const label = { text: item.name ?? '', span: item.keySpan }
      unpackLevel(item.value, [...labels, label], unpacking)
    }
    return
  }
  const { name: type, nameSpan: typeSpan } = property
  const headerSpan = labels.at(-1)?.span ?? typeSpan
  const body = objectAsBody(value, unpacking.syntax, headerSpan)
  unpacking.blocks.push({ type, typeSpan, labels, body, headerSpan })
}

/**
 * Gives a block the number of labels that its schema requires. Only HCL 1 writes labels as nested
 * blocks.
 */
export function relabelBlock(block: Block, options: UnpackOptions): readonly Block[] {
  const { labelNames, problems } = options
  const { labels, type } = block
  if (labels.length === labelNames.length) return [block]
  const surplus = labels[labelNames.length]
  if (surplus !== undefined) {
    const wanted =
      labelNames.length === 0
        ? 'no labels'
        : `${labelNames.length} label(s): ${labelNames.join(', ')}`
    const detail = `Blocks of type ${quoteText(type)} have ${wanted}.`
    report(problems, { span: surplus.span, summary: 'Extraneous label', detail })
    return []
  }
  if (block.body.syntax === 'legacy' && hasItems(block.body)) return labelByItems(block, options)
  const missing = labelNames.slice(labels.length).join(', ')
  const detail = `Blocks of type ${quoteText(type)} need ${labelNames.length} label(s); missing: ${missing}.`
  report(problems, { span: block.headerSpan, summary: 'Missing label', detail })
  return []
}

function hasItems(body: Body): boolean {
  return body.attributes.length + body.blocks.length > 0
}

/** Reads `job { web { … } }` as `job "web" { … }`. */
function labelByItems(block: Block, options: UnpackOptions): readonly Block[] {
  const { type, typeSpan, labels, headerSpan, body } = block
  const labelNames = options.labelNames.slice(labels.length)
  const property = {
    name: type,
    nameSpan: typeSpan,
    expression: bodyAsObject(body),
    span: headerSpan,
  }
  const unpacked = unpackBlocks(property, { ...options, labelNames, syntax: 'legacy' })
  return unpacked.map((one) => ({ ...one, labels: [...labels, ...one.labels] }))
}
