import type { AttributeSchema, BlockSchema, BodySchema } from '@reeve/hcl'
import type { RecordBuilder } from '../build/draft.ts'
import { ATTRIBUTE_KINDS, MAP_MEMBERS, type ArgumentKind } from './kind.ts'

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
