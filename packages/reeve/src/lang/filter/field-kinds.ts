import { assert } from '@reeve/kit/fault.ts'

/**
 * The declared type of a value. A row is plain JSON, but the meaning of operators depends on types
 * that JSON does not show: an object may be a record or a map, a string may be a time or bytes, and
 * null may be an empty list.
 */
export type FieldKinds = LeafKinds | CollectionKinds | StructKinds

export type LeafKind =
  | 'string'
  | 'integer'
  | 'float'
  | 'boolean'
  | 'time'
  /** Base64 in JSON; null means no bytes. */
  | 'bytes'
  /** Free-form JSON: the value determines its type, and objects are maps. */
  | 'json'
  /** Undeclared: the value determines its type, and objects are records. */
  | 'untyped'

export interface LeafKinds {
  readonly kind: LeafKind
  readonly nullable: boolean
}

export interface CollectionKinds {
  readonly kind: 'list' | 'map'
  readonly nullable: boolean
  readonly of: FieldKinds
}

export interface StructKinds {
  readonly kind: 'struct'
  readonly nullable: boolean
  readonly fields: ReadonlyMap<string, FieldKinds>
}

export const STRING: FieldKinds = { kind: 'string', nullable: false }
export const INTEGER: FieldKinds = { kind: 'integer', nullable: false }
export const JSON_VALUE: FieldKinds = { kind: 'json', nullable: false }
export const UNTYPED: FieldKinds = { kind: 'untyped', nullable: false }

/** The value of a declared field that a row omits: its zero value. */
export function zeroOf(kinds: FieldKinds): unknown {
  if (kinds.nullable) return null
  switch (kinds.kind) {
    case 'string':
    case 'bytes':
      return ''
    case 'integer':
    case 'float':
      return 0
    case 'boolean':
      return false
    case 'time':
      return '0001-01-01T00:00:00Z'
    case 'list':
    case 'map':
    case 'struct':
    case 'json':
      return null
    case 'untyped':
      return undefined
  }
}

/** Schemas are hand-written and not recursive; none is deeper than this. */
const MAX_SCHEMA_DEPTH = 50

/**
 * Converts a JSON Schema. An object with `properties` is a record; one with `patternProperties` or
 * a schema in `additionalProperties` is a map; a union with null is nullable; an open schema is
 * free-form JSON.
 */
export function fieldKindsFromSchema(schema: unknown): FieldKinds {
  return kindsOf(schema, 0)
}

function kindsOf(schema: unknown, depth: number): FieldKinds {
  assert(depth < MAX_SCHEMA_DEPTH, 'the schema of a filtered record is finite')
  if (!isRecord(schema)) return JSON_VALUE
  const variants = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']
  if (Array.isArray(variants)) return joined(variants.map((variant) => kindsOf(variant, depth + 1)))
  const type = schema['type']
  if (Array.isArray(type))
    return joined(type.map((one) => kindsOf({ ...schema, type: one }, depth + 1)))
  switch (type) {
    case 'string':
      return { kind: kindOfText(schema), nullable: false }
    case 'integer':
      return INTEGER
    case 'number':
      return { kind: 'float', nullable: false }
    case 'boolean':
      return { kind: 'boolean', nullable: false }
    case 'null':
      return NULL
    case 'array':
      return { kind: 'list', nullable: false, of: kindsOf(schema['items'], depth + 1) }
    case 'object':
      return kindsOfObject(schema, depth)
    default:
      return kindsOfConstants(schema)
  }
}

function kindOfText(schema: Readonly<Record<string, unknown>>): LeafKind {
  if (schema['format'] === 'date-time') return 'time'
  return schema['contentEncoding'] === 'base64' ? 'bytes' : 'string'
}

/** Marks the null variant of a union until `joinVariants` merges it into the others. */
const NULL: FieldKinds = { kind: 'json', nullable: true }

function kindsOfObject(schema: Readonly<Record<string, unknown>>, depth: number): FieldKinds {
  const { properties, patternProperties, additionalProperties } = schema
  if (isRecord(properties)) {
    const fields = Object.entries(properties)
    return {
      kind: 'struct',
      nullable: false,
      fields: new Map(fields.map(([name, field]) => [name, kindsOf(field, depth + 1)])),
    }
  }
  const values = isRecord(patternProperties)
    ? Object.values(patternProperties)
    : [additionalProperties]
  return { kind: 'map', nullable: false, of: joined(values.map((one) => kindsOf(one, depth + 1))) }
}

/** Handles enumerations without a `type`. */
function kindsOfConstants(schema: Readonly<Record<string, unknown>>): FieldKinds {
  const constants = Array.isArray(schema['enum']) ? schema['enum'] : [schema['const']]
  return constants.every((constant) => typeof constant === 'string') ? STRING : JSON_VALUE
}

function joined(variants: readonly FieldKinds[]): FieldKinds {
  const nullable = variants.some((variant) => variant.nullable)
  const [first, ...rest] = variants.filter((variant) => variant !== NULL)
  return { ...rest.reduce(join, first ?? JSON_VALUE), nullable }
}

/**
 * Variants of one kind keep it, with the fields of both. For different kinds the value determines
 * the type.
 */
function join(a: FieldKinds, b: FieldKinds): FieldKinds {
  if (a.kind === 'struct' && b.kind === 'struct') {
    const fields = new Map(a.fields)
    for (const [name, kinds] of b.fields) {
      const other = fields.get(name)
      fields.set(name, other === undefined ? kinds : join(other, kinds))
    }
    return { ...a, fields }
  }
  if ('of' in a && 'of' in b && a.kind === b.kind) return { ...a, of: join(a.of, b.of) }
  return a.kind === b.kind ? a : JSON_VALUE
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
