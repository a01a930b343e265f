import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  asKeyword,
  charge,
  childScope,
  convert,
  describeValue,
  entriesOf,
  errorAt,
  evaluate,
  formatConversionError,
  isList,
  listOf,
  makeObject,
  readContent,
  STRING,
  TOO_EXPENSIVE,
  type Attribute,
  type Block,
  type BlockExpander,
  type BodySchema,
  type Content,
  type Diagnostic,
  type Label,
  type Scope,
  type ScopedBlock,
  type Value,
} from '@reeve/hcl'
import { STEPS_PER_ROUND } from './limits.ts'

/** `dynamic "port" { for_each = …  content { … } }` expands to one block per element. */
export const DYNAMIC: BlockExpander = { type: 'dynamic', labels: ['type'], expand }

const SCHEMA: BodySchema = {
  attributes: { for_each: {}, iterator: {}, labels: {} },
  blocks: { content: {} },
}

function expand(block: Block, scope: Scope): Result<readonly ScopedBlock[], readonly Diagnostic[]> {
  const read = readContent(block.body, SCHEMA)
  if (!read.ok) return read
  const parts = readParts(block, read.value)
  if (!parts.ok) return parts
  const rounds = evaluateRounds(parts.value.forEach, scope)
  if (!rounds.ok) return rounds
  const blocks: ScopedBlock[] = []
  for (const round of rounds.value) {
    const inner = childScope(scope, { [parts.value.iterator]: makeObject(Object.entries(round)) })
    const labels = evaluateLabels(parts.value.labels, inner)
    if (!labels.ok) return labels
    const { type, content } = parts.value
    const { headerSpan } = block
    const { body } = content
    const made = { type: type.text, typeSpan: type.span, labels: labels.value, body, headerSpan }
    blocks.push({ block: made, scope: inner })
  }
  return ok(blocks)
}

interface Parts {
  readonly type: Label
  readonly forEach: Attribute
  readonly iterator: string
  readonly labels: Attribute | undefined
  readonly content: Block
}

function readParts(
  block: Block,
  { attributes, blocks }: Content,
): Result<Parts, readonly Diagnostic[]> {
  const [type] = block.labels
  const forEach = attributes.get('for_each')
  const [content, second] = blocks
  const refuse = (span: Block['headerSpan'], summary: string, detail: string) =>
    err([errorAt(span, summary, detail)])
  if (type === undefined || forEach === undefined)
    return refuse(
      block.headerSpan,
      'Missing required argument',
      'A dynamic block needs "for_each".',
    )
  if (content === undefined)
    return refuse(block.headerSpan, 'Missing block', 'A dynamic block needs a "content" block.')
  if (second !== undefined)
    return refuse(second.headerSpan, 'Duplicate block', 'A dynamic block has one "content" block.')
  const named = attributes.get('iterator')
  const iterator = named === undefined ? type.text : asKeyword(named.expression)
  if (iterator === undefined)
    return refuse(
      named?.expression.span ?? type.span,
      'Invalid iterator',
      'The iterator is a name.',
    )
  return ok({ type, forEach, iterator, labels: attributes.get('labels'), content })
}

interface Round {
  readonly key: Value
  readonly value: Value
}

function evaluateRounds(
  attribute: Attribute,
  scope: Scope,
): Result<readonly Round[], readonly Diagnostic[]> {
  const { expression } = attribute
  const evaluated = evaluate(expression, scope)
  if (!evaluated.ok) return evaluated
  const { value } = evaluated
  const refuse = (summary: string, detail: string) =>
    err([errorAt(expression.span, summary, detail)])
  const entries = entriesOf(value)
  if (entries === undefined)
    return refuse(
      'Invalid for_each',
      `A list, set or map is needed, but found ${describeValue(value)}.`,
    )
  const isPaid = charge(scope.meter, entries.length * STEPS_PER_ROUND)
  if (isPaid) return ok(entries.map(([key, element]) => ({ key, value: element })))
  return refuse(TOO_EXPENSIVE, `Evaluation needs more than ${scope.meter.limits.stepsMax} steps.`)
}

function evaluateLabels(
  attribute: Attribute | undefined,
  scope: Scope,
): Result<readonly Label[], readonly Diagnostic[]> {
  if (attribute === undefined) return ok([])
  const { span } = attribute.expression
  const evaluated = evaluate(attribute.expression, scope)
  if (!evaluated.ok) return evaluated
  const texts = convert(evaluated.value, listOf(STRING))
  const refuse = (message: string) =>
    err([
      errorAt(span, 'Invalid labels', `The labels of a block are a list of strings: ${message}.`),
    ])
  if (!texts.ok) return refuse(formatConversionError(texts.error))
  const labels: Label[] = []
  for (const text of isList(texts.value) ? texts.value : [null]) {
    if (typeof text !== 'string') return refuse('they must not be null')
    labels.push({ text, span })
  }
  return ok(labels)
}
