import { assert } from '@reeve/kit/fault.ts'

/**
 * The declared type of a value. A row is plain JSON, but the meaning of operators depends on types
 * that JSON does not show: an object may be a record or a map, a string may be a time or bytes, and
 * null may be an empty list.
 */
export type FieldType = ScalarType | CollectionType | StructType

type ScalarKind =
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

interface ScalarType {
  readonly kind: ScalarKind
  readonly nullable: boolean
}

interface CollectionType {
  readonly kind: 'list' | 'map'
  readonly nullable: boolean
  readonly of: FieldType
}

interface StructType {
  readonly kind: 'struct'
  readonly nullable: boolean
  readonly fields: ReadonlyMap<string, FieldType>
}

export const STRING: FieldType = { kind: 'string', nullable: false }
export const INTEGER: FieldType = { kind: 'integer', nullable: false }
export const JSON_VALUE: FieldType = { kind: 'json', nullable: false }
export const UNTYPED: FieldType = { kind: 'untyped', nullable: false }

/** The value of a declared field that a row omits: its zero value. */
export function zeroValue(type: FieldType): unknown {
  if (type.nullable) return null
  switch (type.kind) {
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
export function fieldTypeFromSchema(schema: unknown): FieldType {
  return fieldTypeOf(schema, 0)
}

function fieldTypeOf(schema: unknown, depth: number): FieldType {
  assert(depth < MAX_SCHEMA_DEPTH, 'the schema of a filtered record is finite')
  if (!isRecord(schema)) return JSON_VALUE
  const variants = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']
  if (Array.isArray(variants))
    return joinVariants(variants.map((variant) => fieldTypeOf(variant, depth + 1)))
  const type = schema['type']
  if (Array.isArray(type))
    return joinVariants(type.map((one) => fieldTypeOf({ ...schema, type: one }, depth + 1)))
  switch (type) {
    case 'string':
      return { kind: stringKind(schema), nullable: false }
    case 'integer':
      return INTEGER
    case 'number':
      return { kind: 'float', nullable: false }
    case 'boolean':
      return { kind: 'boolean', nullable: false }
    case 'null':
      return NULL
    case 'array':
      return { kind: 'list', nullable: false, of: fieldTypeOf(schema['items'], depth + 1) }
    case 'object':
      return objectType(schema, depth)
    default:
      return enumType(schema)
  }
}

function stringKind(schema: Readonly<Record<string, unknown>>): ScalarKind {
  if (schema['format'] === 'date-time') return 'time'
  return schema['contentEncoding'] === 'base64' ? 'bytes' : 'string'
}

/** Marks the null variant of a union until `joinVariants` merges it into the others. */
const NULL: FieldType = { kind: 'json', nullable: true }

function objectType(schema: Readonly<Record<string, unknown>>, depth: number): FieldType {
  const { properties, patternProperties, additionalProperties } = schema
  if (isRecord(properties)) {
    const fields = Object.entries(properties)
    return {
      kind: 'struct',
      nullable: false,
      fields: new Map(fields.map(([name, field]) => [name, fieldTypeOf(field, depth + 1)])),
    }
  }
  const values = isRecord(patternProperties)
    ? Object.values(patternProperties)
    : [additionalProperties]
  return {
    kind: 'map',
    nullable: false,
    of: joinVariants(values.map((one) => fieldTypeOf(one, depth + 1))),
  }
}

/** Handles enumerations without a `type`. */
function enumType(schema: Readonly<Record<string, unknown>>): FieldType {
  const constants = Array.isArray(schema['enum']) ? schema['enum'] : [schema['const']]
  return constants.every((constant) => typeof constant === 'string') ? STRING : JSON_VALUE
}

function joinVariants(variants: readonly FieldType[]): FieldType {
  const nullable = variants.some((variant) => variant.nullable)
  const [first, ...rest] = variants.filter((variant) => variant !== NULL)
  return { ...rest.reduce(join, first ?? JSON_VALUE), nullable }
}

/**
 * Variants of one kind keep it, with the fields of both. For different kinds the value determines
 * the type.
 */
function join(a: FieldType, b: FieldType): FieldType {
  if (a.kind === 'struct' && b.kind === 'struct') {
    const fields = new Map(a.fields)
    for (const [name, type] of b.fields) {
      const other = fields.get(name)
      fields.set(name, other === undefined ? type : join(other, type))
    }
    return { ...a, fields }
  }
  if ('of' in a && 'of' in b && a.kind === b.kind) return { ...a, of: join(a.of, b.of) }
  return a.kind === b.kind ? a : JSON_VALUE
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
