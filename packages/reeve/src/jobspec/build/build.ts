import {
  decodedToValue,
  errorAt,
  quoteText,
  warningAt,
  type DecodedAttribute,
  type DecodedBlock,
  type DecodedBody,
  type Expression,
  type Span,
} from '@reeve/hcl'
import { report } from '../diagnostics.ts'
import { isRecord, hasInexactInteger, toJson, type Json, type JsonRecord } from '../source.ts'
import type { FieldSpan } from '../source-map.ts'
import type { Nested, BlockMapping } from '../schema/block-mapping.ts'
import type { BuildContext, RecordBuilder } from './record-builder.ts'

/** The parts of a decoded block that a record is built from. */
interface BlockSource {
  readonly labels: readonly string[]
  readonly body: DecodedBody
  readonly headerSpan: Span
}

/** Builds the record of a block. The block has already been checked against its schema. */
export function buildRecord(
  source: BlockSource,
  table: BlockMapping,
  building: BuildContext,
): JsonRecord {
  const { body, headerSpan: span } = source
  const draft: RecordBuilder = { values: new Map(), marks: new Map(), span, building }
  const [label] = source.labels
  if (table.label !== undefined && label !== undefined)
    setField(draft, table.label, { value: label, span })
  for (const attribute of body.attributes.values()) addAttribute(draft, attribute, table)
  for (const [type, blocks] of groupByType(body.blocks))
    addBlocks(draft, blocks, table.blocks[type])
  for (const block of body.blocks) addMapBlock(draft, block, table)
  table.finish?.(draft)
  return finishRecord(draft, table)
}

/** Sets every missing field to null. */
function finishRecord(
  { values, marks, span, building }: RecordBuilder,
  table: BlockMapping,
): JsonRecord {
  const record = Object.fromEntries(table.fields.map((name) => [name, values.get(name) ?? null]))
  building.places.set(record, { span, fields: marks })
  return record
}

function setField(
  draft: RecordBuilder,
  name: string,
  { value, ...mark }: FieldSpan & { readonly value: Json },
) {
  draft.values.set(name, value)
  draft.marks.set(name, mark)
}

function addAttribute(
  draft: RecordBuilder,
  attribute: DecodedAttribute,
  table: BlockMapping,
): void {
  const field = table.attributes[attribute.name]
  if (field === undefined || attribute.value === null) return
  const { expression } = attribute
  const { span } = expression
  warnInexact(attribute, draft.building)
  const value = toJson(attribute.value)
  if (isRecord(value)) indexMembers(draft.building, value, expression)
  setField(draft, field.to, { value, span, expression })
}

function warnInexact({ value, expression }: DecodedAttribute, { findings }: BuildContext): void {
  if (!hasInexactInteger(value)) return
  const detail = 'Whole numbers beyond 2^53 lose digits in a job; write them as strings.'
  report(findings, () => warningAt(expression.span, 'Number rounded', detail))
}

/** Indexes the members of a map that is written out, so that each has its own position. */
function indexMembers({ places }: BuildContext, record: JsonRecord, expression: Expression): void {
  if (expression.kind !== 'object') return
  const fields = new Map<string, FieldSpan>()
  for (const { name, value } of expression.items)
    if (name !== undefined) fields.set(name, { span: value.span, expression: value })
  places.set(record, { span: expression.span, fields })
}

function groupByType(
  blocks: readonly DecodedBlock[],
): ReadonlyMap<string, readonly DecodedBlock[]> {
  const groups = new Map<string, DecodedBlock[]>()
  for (const block of blocks) {
    const group = groups.get(block.type)
    if (group === undefined) groups.set(block.type, [block])
    else group.push(block)
  }
  return groups
}

function addBlocks(
  draft: RecordBuilder,
  blocks: readonly DecodedBlock[],
  row: Nested | undefined,
): void {
  const [first] = blocks
  if (row === undefined || first === undefined) return
  const span = first.headerSpan
  setField(draft, row.to, { value: buildNested(draft, blocks, row), span })
}

function buildNested(
  { building }: RecordBuilder,
  blocks: readonly DecodedBlock[],
  row: Nested,
): Json {
  const [first] = blocks
  if (first === undefined) return null
  if (row.form === 'free') return buildValue(first, building)
  const { table } = row
  if (row.form === 'one') return buildRecord(first, table, building)
  if (row.form === 'many') return blocks.map((block) => buildRecord(block, table, building))
  const entries = new Map<string, JsonRecord>()
  for (const block of blocks) {
    const key = block.labels[0] ?? ''
    if (entries.has(key)) reportLabel(block, key, building)
    else entries.set(key, buildRecord(block, table, building))
  }
  return Object.fromEntries(entries)
}

function reportLabel(block: DecodedBlock, label: string, { findings }: BuildContext): void {
  const detail = () =>
    `There is another block of type ${quoteText(block.type)} with the label ${quoteText(label)}.`
  report(findings, () => errorAt(block.headerSpan, 'Duplicate block', detail()))
}

/** Reads `meta { … }` as `meta = { … }`. */
function addMapBlock(draft: RecordBuilder, block: DecodedBlock, table: BlockMapping): void {
  const field = table.attributes[block.type]
  if (field === undefined || table.blocks[block.type] !== undefined) return
  setField(draft, field.to, { value: buildValue(block, draft.building), span: block.headerSpan })
}

/**
 * Converts a block to a value: nested blocks become lists of objects, even single ones, and labels
 * become nested objects.
 */
function buildValue(block: DecodedBlock, building: BuildContext): Json {
  const { body, headerSpan } = block
  warnInexactValues(body, building)
  const value = toJson(decodedToValue(body))
  if (!isRecord(value)) return value
  const fields = new Map<string, FieldSpan>()
  for (const inner of body.blocks)
    if (!fields.has(inner.type)) fields.set(inner.type, { span: inner.headerSpan })
  for (const { name, expression } of body.attributes.values())
    fields.set(name, { span: expression.span, expression })
  building.places.set(value, { span: headerSpan, fields })
  return value
}

function warnInexactValues({ attributes, blocks }: DecodedBody, building: BuildContext): void {
  for (const attribute of attributes.values()) warnInexact(attribute, building)
  for (const { body } of blocks) warnInexactValues(body, building)
}
