import { err, ok, type Result } from '@reeve/kit/result.ts'
import { evaluateInto } from '../evaluate/evaluate.ts'
import { charge, measure, traversalCost } from '../evaluate/budget.ts'
import type { Scope } from '../evaluate/scope.ts'
import { STEPS_PER_BLOCK } from '../limits.ts'
import type { Attribute, Block, Body } from '../syntax/ast.ts'
import {
  countProblems,
  hasErrors,
  isFull,
  createCollector,
  report,
  reportAll,
  toDiagnostics,
  TOO_EXPENSIVE,
  type Diagnostic,
  type DiagnosticCollector,
} from '../text/diagnostic.ts'
import { didYouMean, quoteText } from '../text/suggest.ts'
import { ANY } from '../value/type.ts'
import { convert, formatConversionError } from '../value/convert.ts'
import { makeObject, type ObjectValue, type Value } from '../value/value.ts'
import {
  findAttributeSchema,
  findBlockSchema,
  classifyContent,
  type ClassifiedContent,
} from './content.ts'
import {
  OPEN_BODY,
  type BodySchema,
  type BlockExpander,
  type DecodedAttribute,
  type DecodedBlock,
  type DecodedBody,
  type DecodeOptions,
  type ScopedBlock,
} from './schema.ts'
import { relabelBlock } from './json-blocks.ts'

/**
 * Checks a body against a schema and evaluates all its expressions. All errors are reported
 * together.
 */
export function decodeBody(
  body: Body,
  schema: BodySchema,
  options: DecodeOptions,
): Result<DecodedBody, readonly Diagnostic[]> {
  const problems = createCollector()
  const decoding: Decoding = { problems, expander: options.expander, rules: new Map() }
  const decoded = decode({ body, schema, scope: options.scope }, decoding)
  return hasErrors(problems) ? err(toDiagnostics(problems)) : ok(decoded)
}

interface Decoding {
  readonly problems: DiagnosticCollector
  readonly expander: BlockExpander | undefined
  /** Cached by schema: tens of thousands of expanded blocks may share one. */
  readonly rules: Map<BodySchema, BodyRules>
}

/** Data derived from a schema that every body needs. */
interface BodyRules {
  /** Names that a native body may contain, including the expander's. */
  readonly withExpander: BodySchema
  readonly required: readonly string[]
  readonly counted: readonly { readonly type: string; readonly min: number; readonly max: number }[]
}

function rulesOf(schema: BodySchema, { expander, rules }: Decoding): BodyRules {
  const known = rules.get(schema)
  if (known !== undefined) return known
  const { attributes = {}, blocks = {} } = schema
  const made = {
    withExpander:
      expander === undefined
        ? schema
        : { ...schema, blocks: { ...blocks, [expander.type]: { labels: expander.labels } } },
    required: Object.keys(attributes).filter((name) => attributes[name]?.isRequired === true),
    counted: Object.entries(blocks).flatMap(([type, { countMin: min = 0, countMax: max }]) =>
      min === 0 && max === undefined ? [] : [{ type, min, max: max ?? Infinity }],
    ),
  }
  rules.set(schema, made)
  return made
}

interface Work {
  readonly body: Body
  readonly schema: BodySchema
  readonly scope: Scope
}

function decode(work: Work, decoding: Decoding): DecodedBody {
  const { body } = work
  const rules = rulesOf(work.schema, decoding)
  // An open JSON object is plain data: its names have no special meaning.
  const isValue = body.syntax === 'json' && work.schema.isOpen === true
  const schema = isValue ? work.schema : rules.withExpander
  const content = classifyContent(body, schema, decoding.problems)
  const attributes = new Map<string, DecodedAttribute>()
  for (const attribute of content.attributes.values()) {
    if (isFull(decoding.problems)) break
    const decoded = decodeAttribute(attribute, work, decoding)
    if (decoded !== undefined) attributes.set(decoded.name, decoded)
  }
  checkRequired(body, { required: rules.required, found: content.attributes }, decoding.problems)
  const blocks = decodeBlocks(work, content, decoding)
  return { attributes, blocks, anchor: body.anchor }
}

function decodeBlocks(
  work: Work,
  content: ClassifiedContent,
  decoding: Decoding,
): readonly DecodedBlock[] {
  const { schema, scope } = work
  const blocks: DecodedBlock[] = []
  const before = countProblems(decoding.problems)
  const scoped = content.blocks.flatMap((block) => expandBlock({ block, scope }, schema, decoding))
  const isExpanded = countProblems(decoding.problems) === before
  for (const one of scoped) {
    if (isFull(decoding.problems)) break
    const decoded = decodeBlock(one, schema, decoding)
    if (decoded !== undefined) blocks.push(decoded)
  }
  for (const { type, min, max } of rulesOf(schema, decoding).counted) {
    const found = scoped.filter((one) => one.block.type === type)
    const mayBeMissing = isExpanded && !content.refusedTypes.has(type)
    if (mayBeMissing && found.length < min) reportMissing(work, type, decoding.problems)
    const surplus = found[max]
    if (surplus !== undefined) reportSurplus(surplus, max, decoding.problems)
  }
  return blocks
}

function decodeAttribute(
  attribute: Attribute,
  work: Work,
  decoding: Decoding,
): DecodedAttribute | undefined {
  const { name, nameSpan, expression } = attribute
  const evaluated = evaluateInto(expression, work.scope, decoding.problems)
  if (evaluated === undefined) return undefined
  const value = convertAttribute(attribute, evaluated, { work, decoding })
  return value === undefined ? undefined : { name, value, nameSpan, expression }
}

function convertAttribute(
  attribute: Attribute,
  value: Value,
  place: { readonly work: Work; readonly decoding: Decoding },
): Value | undefined {
  const { body, schema, scope } = place.work
  const { problems } = place.decoding
  const { name, expression } = attribute
  const wanted = findAttributeSchema(schema, name) ?? {}
  const invalid = (message: string) => {
    const detail = `Inappropriate value for argument ${quoteText(name)}: ${message}.`
    return report(problems, { span: expression.span, summary: 'Incorrect value type', detail })
  }
  if (value === null && wanted.isRequired === true) return invalid('it must not be null')
  // The caller will write out the value in full even where it is shared, so charge its full size.
  // The next evaluation reports an exhausted budget; this value is at most as large as the value
  // limit.
  charge(scope.meter, traversalCost(measure(scope.meter, value)))
  const converted = convert(value, wanted.type ?? ANY, { weak: body.syntax === 'legacy' })
  if (!converted.ok) return invalid(formatConversionError(converted.error))
  const read = wanted.read?.(converted.value) ?? converted
  return read.ok ? read.value : invalid(read.error)
}

function checkRequired(
  body: Body,
  names: {
    readonly required: readonly string[]
    readonly found: ReadonlyMap<string, Attribute>
  },
  problems: DiagnosticCollector,
): void {
  for (const name of names.required) {
    if (names.found.has(name)) continue
    const detail = `The argument ${quoteText(name)} is required, but it was not set.`
    report(problems, { span: body.anchor, summary: 'Missing required argument', detail })
  }
}

/** Returns the block itself or its expansion, checked against the schema like a written block. */
function expandBlock(
  scoped: ScopedBlock,
  schema: BodySchema,
  decoding: Decoding,
): readonly ScopedBlock[] {
  const { expander, problems } = decoding
  const { block, scope } = scoped
  if (block.type !== expander?.type) return [scoped]
  if (isFull(problems)) return []
  const expanded = expander.expand(block, scope)
  if (!expanded.ok) {
    reportAll(problems, expanded.error)
    return []
  }
  return expanded.value.flatMap((one) => {
    const known = findBlockSchema(schema, one.block.type)
    if (known === undefined) {
      if (schema.isOpen !== true) reportUnsupported(one.block, schema, problems)
      return schema.isOpen === true ? [one] : []
    }
    const relabelled = relabelBlock(one.block, { labelNames: known.labels ?? [], problems })
    return relabelled.map((inner) => ({ block: inner, scope: one.scope }))
  })
}

function reportUnsupported(
  block: Block,
  schema: BodySchema,
  problems: DiagnosticCollector,
): undefined {
  const detail = () => {
    const hint = didYouMean(block.type, Object.keys(schema.blocks ?? {}))
    return `Blocks of type ${quoteText(block.type)} are not expected here.${hint}`
  }
  return report(problems, { span: block.typeSpan, summary: 'Unsupported block type', detail })
}

function decodeBlock(
  scoped: ScopedBlock,
  schema: BodySchema,
  decoding: Decoding,
): DecodedBlock | undefined {
  const { block, scope } = scoped
  const { type, headerSpan, body } = block
  if (!charge(scope.meter, STEPS_PER_BLOCK)) {
    const detail = `Evaluation needs more than ${scope.meter.limits.stepsMax} steps.`
    return report(decoding.problems, { span: headerSpan, summary: TOO_EXPENSIVE, detail })
  }
  const inner = findBlockSchema(schema, type)?.body ?? OPEN_BODY
  const decoded = decode({ body, schema: inner, scope }, decoding)
  return { type, labels: block.labels.map((label) => label.text), body: decoded, headerSpan }
}

function reportMissing(
  { body, schema }: Work,
  type: string,
  problems: DiagnosticCollector,
): undefined {
  const countMin = findBlockSchema(schema, type)?.countMin ?? 0
  const detail = `At least ${countMin} block(s) of type ${quoteText(type)} are required.`
  return report(problems, { span: body.anchor, summary: 'Missing block', detail })
}

function reportSurplus(
  { block }: ScopedBlock,
  countMax: number,
  problems: DiagnosticCollector,
): undefined {
  const detail = `At most ${countMax} block(s) of type ${quoteText(block.type)} are allowed here.`
  return report(problems, { span: block.headerSpan, summary: 'Duplicate block', detail })
}

/**
 * Converts any body to an object: attributes become members, the blocks of one type a list of
 * objects.
 */
export function bodyToValue(
  body: Body,
  options: DecodeOptions,
): Result<ObjectValue, readonly Diagnostic[]> {
  const decoded = decodeBody(body, OPEN_BODY, options)
  return decoded.ok ? ok(decodedToValue(decoded.value)) : err(decoded.error)
}

/**
 * Even a single block becomes a list, so that callers handle one shape. Labels become nested
 * objects.
 */
export function decodedToValue(body: DecodedBody): ObjectValue {
  const members = new Map<string, Value>()
  for (const { name, value } of body.attributes.values()) members.set(name, value)
  const byType = new Map<string, Value[]>()
  for (const block of body.blocks) {
    const list = byType.get(block.type)
    if (list === undefined) byType.set(block.type, [blockToValue(block)])
    else list.push(blockToValue(block))
  }
  for (const [type, list] of byType) members.set(type, list)
  return makeObject(members)
}

function blockToValue(block: DecodedBlock): ObjectValue {
  let value = decodedToValue(block.body)
  for (const label of block.labels.toReversed()) value = makeObject([[label, value]])
  return value
}
