import {
  type AttributeSchema,
  type BlockSchema,
  type BodySchema,
  BOOL,
  isList,
  isNumber,
  isObject,
  listOf,
  mapOf,
  NUMBER,
  quoteText,
  STRING,
  type Value,
} from '@reeve/hcl'
import { parseDurationNs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { RecordBuilder } from '../build/record-builder.ts'
import { DURATION_NS_MAX } from '../limits.ts'

/**
 * Maps a block to a record of the job: one row per name. With `count: int('Count', 'Number of
 * allocations.')` the attribute `count` is an integer, becomes the field `Count`, and has that text
 * in the job file reference.
 */
export interface BlockMapping {
  /** The field for the label; without it the block has no label. */
  readonly label?: string
  readonly attributes: Readonly<Record<string, Field>>
  readonly blocks: Readonly<Record<string, Nested>>
  /** All fields of the record; unset ones are null. */
  readonly fields: readonly string[]
  /** Runs after all items are read: expands shorthands and consumes pseudo-fields. */
  readonly finish?: (draft: RecordBuilder) => void
  /** The schema for the HCL decoder. */
  readonly schema: BodySchema
}

/** A name that is not a field of the record; `finish` consumes it. */
type PseudoField = `@${string}`

export interface Field<Name extends string = string> {
  readonly kind: ArgumentKind
  readonly to: Name
  /** Documentation for the job file reference, in Markdown. */
  readonly help: string
}

export type Nested<Name extends string = string> =
  | { readonly form: 'one' | 'many' | 'map'; readonly to: Name; readonly table: BlockMapping }
  | { readonly form: 'free'; readonly to: Name }

interface BlockRows<Name extends string> {
  readonly label?: Name | PseudoField
  readonly attributes?: Readonly<Record<string, Field<Name | PseudoField>>>
  readonly blocks?: Readonly<Record<string, Nested<Name | PseudoField>>>
  readonly finish?: (draft: RecordBuilder) => void
}

/** A schema of the contract: rows may name only its properties. */
interface ObjectSchema {
  readonly properties: Readonly<Record<string, unknown>>
}

export function mapBlock<S extends ObjectSchema>(
  shape: S,
  rows: BlockRows<keyof S['properties'] & string>,
): BlockMapping {
  const { label, attributes = {}, blocks = {}, finish } = rows
  return {
    attributes,
    blocks,
    fields: Object.keys(shape.properties),
    schema: schemaOf(attributes, blocks),
    ...(label === undefined ? {} : { label }),
    ...(finish === undefined ? {} : { finish }),
  }
}

/** The schema for the HCL decoder of blocks with these rows. */
export function schemaOf(
  fields: Readonly<Record<string, Field>>,
  nested: Readonly<Record<string, Nested>>,
): BodySchema {
  const attributes: Record<string, AttributeSchema> = {}
  const blocks: Record<string, BlockSchema> = {}
  for (const [name, { kind }] of Object.entries(fields)) {
    attributes[name] = ATTRIBUTE_KINDS[kind]
    const member = MAP_MEMBERS[kind]
    if (member !== undefined) blocks[name] = { countMax: 1, body: { otherAttributes: member } }
  }
  for (const [type, row] of Object.entries(nested)) blocks[type] = blockSchema(row)
  return { attributes, blocks }
}

function blockSchema(row: Nested): BlockSchema {
  if (row.form === 'free') return { countMax: 1 }
  const { table } = row
  return {
    body: table.schema,
    ...(table.label === undefined ? {} : { labels: ['name'] }),
    ...(row.form === 'one' ? { countMax: 1 } : {}),
  }
}

export const string = fieldOf('text')
export const int = fieldOf('int')
export const bool = fieldOf('bool')
export const duration = fieldOf('duration')
export const stringList = fieldOf('texts')
export const stringMap = fieldOf('textMap')
export const stringListMap = fieldOf('textsMap')

function fieldOf(kind: ArgumentKind) {
  return <const Name extends string>(to: Name, help: string): Field<Name> => ({ kind, to, help })
}

/** A block that may appear once and becomes an object. */
export function one<const Name extends string>(to: Name, table: BlockMapping): Nested<Name> {
  return { form: 'one', to, table }
}

/** Blocks that become a list in source order. */
export function many<const Name extends string>(to: Name, table: BlockMapping): Nested<Name> {
  return { form: 'many', to, table }
}

/** Blocks that become a map with their labels as keys. */
export function map<const Name extends string>(to: Name, table: BlockMapping): Nested<Name> {
  return { form: 'map', to, table }
}

/** A block whose content is not interpreted here, such as a driver configuration. */
export function opaque<const Name extends string>(to: Name): Nested<Name> {
  return { form: 'free', to }
}

/** The kind of an attribute's value. Null leaves it unset, except for a duration. */
type ArgumentKind = keyof typeof ATTRIBUTE_KINDS

/** How each kind is converted (numbers from strings, durations, sizes). */
export const ATTRIBUTE_KINDS = {
  text: { type: STRING },
  int: { type: NUMBER, read: readInteger },
  bool: { type: BOOL },
  duration: { read: readDuration },
  texts: { type: listOf(STRING), read: withoutNulls },
  /** May also be written as a block: `meta { … }`. */
  textMap: { type: mapOf(STRING), read: withoutNulls },
  /** May also be written as a block: `header { … }`. */
  textsMap: { type: mapOf(listOf(STRING)), read: withoutNulls },
} as const satisfies Readonly<Record<string, AttributeSchema>>

/** For kinds that may be written as a block: the schema of its attributes. */
const MAP_MEMBERS: Readonly<Partial<Record<ArgumentKind, AttributeSchema>>> = {
  textMap: { type: STRING, read: withoutNulls, isRequired: true },
  textsMap: { type: listOf(STRING), read: withoutNulls, isRequired: true },
}

function readInteger(value: Value): Result<Value, string> {
  if (value === null || Number.isSafeInteger(value)) return ok(value)
  return err(typeof value === 'bigint' ? 'the number is too large' : 'a whole number is required')
}

/** Parses text such as `1h30m`; a bare number means nanoseconds. */
function readDuration(value: Value): Result<Value, string> {
  if (value === null) return err('it must not be null')
  const ns = typeof value === 'string' ? parseDurationNs(value) : integerNanoseconds(value)
  if (ns === undefined) {
    const found = typeof value === 'string' ? `, but ${quoteText(value)} is not one` : ''
    return err(`a duration like "90s" or "1h30m" is required${found}`)
  }
  if (Math.abs(ns) > DURATION_NS_MAX) return err('the duration is too long')
  // Normalizes negative zero.
  return ok(ns === 0 ? 0 : ns)
}

function integerNanoseconds(value: Value): number | undefined {
  if (!isNumber(value)) return undefined
  const ns = Number(value)
  return Number.isInteger(ns) ? ns : undefined
}

function withoutNulls(value: Value): Result<Value, string> {
  if (!isList(value) && !isObject(value)) return ok(value)
  for (const [key, member] of Object.entries(value)) {
    const place = isList(value) ? `element ${key}` : `attribute ${quoteText(key)}`
    if (member === null) return err(`${place}: it must not be null`)
    const inner = withoutNulls(member)
    if (!inner.ok) return err(`${place}: ${inner.error}`)
  }
  return ok(value)
}
