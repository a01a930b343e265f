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
import { STEPS_PER_ITERATION } from './limits.ts'

/** `dynamic "port" { for_each = …  content { … } }` expands to one block per element. */
export const DYNAMIC: BlockExpander = { type: 'dynamic', labels: ['type'], expand }

const SCHEMA: BodySchema = {
  attributes: { for_each: {}, iterator: {}, labels: {} },
  blocks: { content: {} },
}

function expand(block: Block, scope: Scope): Result<readonly ScopedBlock[], readonly Diagnostic[]> {
  const read = readContent(block.body, SCHEMA)
  if (!read.ok) return read
  const parts = readDynamicBlock(block, read.value)
  if (!parts.ok) return parts
  const iterations = evaluateIterations(parts.value.forEach, scope)
  if (!iterations.ok) return iterations
  const blocks: ScopedBlock[] = []
  for (const round of iterations.value) {
    const inner = childScope(scope, { [parts.value.iterator]: makeObject(Object.entries(round)) })
    const labels = evaluateLabels(parts.value.labels, inner)
    if (!labels.ok) return labels
    const { type, content } = parts.value
    const { headerSpan } = block
    const { body } = content
    const expandedBlock = {
      type: type.text,
      typeSpan: type.span,
      labels: labels.value,
      body,
      headerSpan,
    }
    blocks.push({ block: expandedBlock, scope: inner })
  }
  return ok(blocks)
}

interface DynamicBlock {
  readonly type: Label
  readonly forEach: Attribute
  readonly iterator: string
  readonly labels: Attribute | undefined
  readonly content: Block
}

function readDynamicBlock(
  block: Block,
  { attributes, blocks }: Content,
): Result<DynamicBlock, readonly Diagnostic[]> {
  const [type] = block.labels
  const forEach = attributes.get('for_each')
  const [content, second] = blocks
  const failure = (span: Block['headerSpan'], summary: string, detail: string) =>
    err([errorAt(span, summary, detail)])
  if (type === undefined || forEach === undefined)
    return failure(
      block.headerSpan,
      'Missing required argument',
      'A dynamic block needs "for_each".',
    )
  if (content === undefined)
    return failure(block.headerSpan, 'Missing block', 'A dynamic block needs a "content" block.')
  if (second !== undefined)
    return failure(second.headerSpan, 'Duplicate block', 'A dynamic block has one "content" block.')
  const named = attributes.get('iterator')
  const iterator = named === undefined ? type.text : asKeyword(named.expression)
  if (iterator === undefined)
    return failure(
      named?.expression.span ?? type.span,
      'Invalid iterator',
      'The iterator is a name.',
    )
  return ok({ type, forEach, iterator, labels: attributes.get('labels'), content })
}

interface Iteration {
  readonly key: Value
  readonly value: Value
}

function evaluateIterations(
  attribute: Attribute,
  scope: Scope,
): Result<readonly Iteration[], readonly Diagnostic[]> {
  const { expression } = attribute
  const evaluated = evaluate(expression, scope)
  if (!evaluated.ok) return evaluated
  const { value } = evaluated
  const failure = (summary: string, detail: string) =>
    err([errorAt(expression.span, summary, detail)])
  const entries = entriesOf(value)
  if (entries === undefined)
    return failure(
      'Invalid for_each',
      `A list, set or map is needed, but found ${describeValue(value)}.`,
    )
  const isWithinBudget = charge(scope.meter, entries.length * STEPS_PER_ITERATION)
  if (isWithinBudget) return ok(entries.map(([key, element]) => ({ key, value: element })))
  return failure(TOO_EXPENSIVE, `Evaluation needs more than ${scope.meter.limits.stepsMax} steps.`)
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
  const failure = (message: string) =>
    err([
      errorAt(span, 'Invalid labels', `The labels of a block are a list of strings: ${message}.`),
    ])
  if (!texts.ok) return failure(formatConversionError(texts.error))
  const labels: Label[] = []
  for (const text of isList(texts.value) ? texts.value : [null]) {
    if (typeof text !== 'string') return failure('they must not be null')
    labels.push({ text, span })
  }
  return ok(labels)
}
