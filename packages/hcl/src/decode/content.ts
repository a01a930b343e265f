import { err, ok, type Result } from '@reeve/kit/result.ts'
import { blockAsExpression } from '../syntax/parse.ts'
import type { Attribute, Block, Body } from '../syntax/ast.ts'
import {
  countProblems,
  hasErrors,
  createCollector,
  report,
  toDiagnostics,
  type Diagnostic,
  type DiagnosticCollector,
} from '../text/diagnostic.ts'
import { didYouMean, quoteText } from '../text/suggest.ts'
import { joinSpans } from '../text/source.ts'
import type { AttributeSchema, BlockSchema, BodySchema } from './schema.ts'
import { relabelBlock, unpackBlocks } from './json-blocks.ts'

/** The items of a body, classified as attributes and blocks by a schema. Nothing is evaluated. */
export interface Content {
  readonly attributes: ReadonlyMap<string, Attribute>
  /** In source order with types mixed; each has the labels that its schema requires. */
  readonly blocks: readonly Block[]
}

/**
 * For callers that evaluate parts of a body first, such as variables before the job. Checks names
 * and labels, not counts.
 */
export function readContent(
  body: Body,
  schema: BodySchema,
): Result<Content, readonly Diagnostic[]> {
  const problems = createCollector()
  const content = classifyContent(body, schema, problems)
  return hasErrors(problems) ? err(toDiagnostics(problems)) : ok(content)
}

export interface ClassifiedContent extends Content {
  /** Types with a rejected block, so that the type is not also reported as missing. */
  readonly refusedTypes: ReadonlySet<string>
}

/**
 * Like `readContent`, but returns valid content together with diagnostics, so that the caller can
 * go on and find more errors.
 */
export function readPartialContent(
  body: Body,
  schema: BodySchema,
): { readonly content: Content; readonly diagnostics: readonly Diagnostic[] } {
  const problems = createCollector()
  const content = classifyContent(body, schema, problems)
  return { content, diagnostics: toDiagnostics(problems) }
}

/** Like `readPartialContent`, but reports to the caller's collector. */
export function classifyContent(
  body: Body,
  schema: BodySchema,
  problems: DiagnosticCollector,
): ClassifiedContent {
  const refusedTypes = new Set<string>()
  const sorter: Classifier = {
    body,
    schema,
    problems,
    attributes: new Map(),
    blocks: [],
    refusedTypes,
  }
  for (const attribute of body.attributes) sortAttribute(sorter, attribute)
  for (const block of body.blocks) sortBlock(sorter, block)
  const attributes = new Map<string, Attribute>()
  for (const [name, list] of sorter.attributes) {
    const attribute = resolveRepeated(sorter, list)
    if (attribute !== undefined) attributes.set(name, attribute)
  }
  const blocks = sorter.blocks.toSorted((a, b) => a.headerSpan.start - b.headerSpan.start)
  checkBothWays({ attributes, blocks }, problems)
  return { attributes, blocks, refusedTypes }
}

interface Classifier {
  readonly body: Body
  readonly schema: BodySchema
  readonly problems: DiagnosticCollector
  /** The native parser has already rejected duplicate names; the other syntaxes keep them all. */
  readonly attributes: Map<string, Attribute[]>
  readonly blocks: Block[]
  readonly refusedTypes: Set<string>
}

export function findAttributeSchema(schema: BodySchema, name: string): AttributeSchema | undefined {
  const listed = schema.attributes ?? {}
  return Object.hasOwn(listed, name) ? listed[name] : schema.otherAttributes
}

export function findBlockSchema(schema: BodySchema, type: string): BlockSchema | undefined {
  const listed = schema.blocks ?? {}
  return Object.hasOwn(listed, type) ? listed[type] : undefined
}

function sortAttribute(sorter: Classifier, attribute: Attribute): void {
  const { body, schema, problems } = sorter
  const { name } = attribute
  // JSON has no comments; a property of this name stands in for them.
  if (body.syntax === 'json' && name === '//') return
  const known = findAttributeSchema(schema, name)
  const block = findBlockSchema(schema, name)
  // If the schema allows both, an object is the value; only a list can stand for blocks.
  const isValue = block === undefined || attribute.expression.kind !== 'tuple'
  if (known !== undefined && (isValue || body.syntax === 'native'))
    return addAttribute(sorter, attribute)
  if (block !== undefined && body.syntax !== 'native') {
    const { syntax } = body
    const labelNames = block.labels ?? []
    return addBlocks(sorter, name, () => unpackBlocks(attribute, { syntax, labelNames, problems }))
  }
  if (schema.isOpen === true && block === undefined) return addAttribute(sorter, attribute)
  const detail = () => {
    const hint =
      block === undefined
        ? didYouMean(name, namesOf(schema))
        : ` Did you mean to define a block of type ${quoteText(name)}?`
    return `An argument named ${quoteText(name)} is not expected here.${hint}`
  }
  report(problems, { span: attribute.nameSpan, summary: 'Unsupported argument', detail })
}

function addBlocks(sorter: Classifier, type: string, read: () => readonly Block[]): void {
  const before = countProblems(sorter.problems)
  for (const block of read()) sorter.blocks.push(block)
  if (countProblems(sorter.problems) > before) sorter.refusedTypes.add(type)
}

function namesOf(schema: BodySchema): readonly string[] {
  return [...Object.keys(schema.attributes ?? {}), ...Object.keys(schema.blocks ?? {})]
}

function addAttribute(sorter: Classifier, attribute: Attribute): void {
  const list = sorter.attributes.get(attribute.name)
  if (list === undefined) sorter.attributes.set(attribute.name, [attribute])
  else list.push(attribute)
}

/**
 * JSON allows a property only once. In HCL 1 objects are merged, and any other value replaces the
 * previous one.
 */
function resolveRepeated(
  { body, problems }: Classifier,
  list: readonly Attribute[],
): Attribute | undefined {
  const [first, second] = list
  if (first === undefined || second === undefined) return first
  if (body.syntax !== 'legacy') {
    const detail = `The argument ${quoteText(first.name)} was already set. Each argument may be set only once.`
    report(problems, { span: second.nameSpan, summary: 'Attribute redefined', detail })
    return first
  }
  const lastOther = list.findLastIndex((one) => one.expression.kind !== 'object')
  const merged = lastOther === list.length - 1 ? list.slice(-1) : list.slice(lastOther + 1)
  const last = merged.at(-1)
  if (last?.expression.kind !== 'object') return last
  const items = merged.flatMap(({ expression }) =>
    expression.kind === 'object' ? expression.items : [],
  )
  return { ...last, expression: { ...last.expression, items } }
}

function sortBlock(sorter: Classifier, block: Block): void {
  const { body, schema, problems } = sorter
  const { type, typeSpan } = block
  const known = findBlockSchema(schema, type)
  if (known !== undefined) {
    const labelNames = known.labels ?? []
    return addBlocks(sorter, type, () => relabelBlock(block, { labelNames, problems }))
  }
  const isAttribute = findAttributeSchema(schema, type) !== undefined
  if (isAttribute && body.syntax === 'legacy') return addAttribute(sorter, blockAsAttribute(block))
  if (schema.isOpen === true && !isAttribute) {
    sorter.blocks.push(block)
    return
  }
  const detail = () => {
    // Labels suggest that a block was intended.
    const hint =
      isAttribute && block.labels.length === 0
        ? ` Did you mean to set the argument ${quoteText(type)}? If so, write "=" after its name.`
        : didYouMean(type, namesOf(schema))
    return `Blocks of type ${quoteText(type)} are not expected here.${hint}`
  }
  report(problems, { span: typeSpan, summary: 'Unsupported block type', detail })
}

function blockAsAttribute(block: Block): Attribute {
  const { type: name, typeSpan: nameSpan } = block
  const expression = blockAsExpression(block)
  return { name, nameSpan, expression, span: joinSpans(nameSpan, expression.span) }
}

/** `env = {…}` and `env {…}` mean the same, so having both is ambiguous. */
function checkBothWays({ attributes, blocks }: Content, problems: DiagnosticCollector): void {
  for (const block of blocks) {
    const attribute = attributes.get(block.type)
    if (attribute === undefined) continue
    const first =
      attribute.nameSpan.start < block.typeSpan.start ? block.typeSpan : attribute.nameSpan
    const detail = `${quoteText(block.type)} is given both as an argument and as a block.`
    report(problems, { span: first, summary: 'Duplicate definition', detail })
  }
}
