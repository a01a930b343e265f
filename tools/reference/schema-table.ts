import { code, sentence, table } from './page.ts'

/** Where named schemas are described, from a page of the API reference. */
export const TYPES_PAGE = 'types.md'

/** Named schemas in the order in which they were met. */
export class NamedSchemas {
  readonly #schemas = new Map<string, Schema>()

  /** Notes a schema and all named ones inside of it. */
  note(schema: Schema): void {
    const { $id } = schema
    if (typeof $id === 'string') {
      if (this.#schemas.has($id)) return
      this.#schemas.set($id, schema)
    }
    for (const inner of nestedSchemas(schema)) this.note(inner)
  }

  sorted(): readonly (readonly [name: string, schema: Schema])[] {
    return [...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  }
}

function nestedSchemas(schema: Schema): readonly Schema[] {
  return [
    ...Object.values(asSchema(schema['properties'])),
    ...Object.values(asSchema(schema['patternProperties'])),
    ...asArray(schema['anyOf']),
    ...asArray(schema['allOf']),
    schema['items'],
    schema['additionalProperties'],
  ]
    .filter((inner) => typeof inner === 'object' && inner !== null)
    .map(asSchema)
}

/** The fields of an object; empty for anything else. */
export function fieldTable(schema: Schema): string {
  const required = new Set(asArray(schema['required']))
  const rows = Object.entries(asSchema(schema['properties'])).map(([name, inner]) => [
    code(name),
    typeText(asSchema(inner)),
    describeField(asSchema(inner), !required.has(name)),
  ])
  return table(['Field', 'Type', 'Description'], rows)
}

function describeField(schema: Schema, isOptional: boolean): string {
  const { description, minimum, maximum, default: byDefault } = schema
  return [
    ...(isOptional ? ['Optional.'] : []),
    ...(typeof description === 'string' ? [sentence(description)] : []),
    ...(minimum === undefined ? [] : [`At least ${JSON.stringify(minimum)}.`]),
    ...(maximum === undefined ? [] : [`At most ${JSON.stringify(maximum)}.`]),
    ...(byDefault === undefined ? [] : [`Default: ${code(JSON.stringify(byDefault))}.`]),
  ].join(' ')
}

/** The type of a value in a few words; named schemas are links. */
export function typeText(schema: Schema): string {
  const { $id, type } = schema
  if (typeof $id === 'string') return `[${$id}](${TYPES_PAGE}#${$id.toLowerCase()})`
  const values = asArray(schema['enum'])
  if (values.length > 0) return values.map((value) => code(JSON.stringify(value))).join(', ')
  if ('const' in schema) return code(JSON.stringify(schema['const']))
  const variants = asArray(schema['anyOf']).map(asSchema)
  if (variants.length > 0) return [...new Set(variants.map(typeText))].join(' or ')
  if (type === 'array') return `list of ${typeText(asSchema(schema['items']))}`
  if (type === 'object') return mapText(schema)
  if (schema['format'] === 'nanoseconds') return 'integer (ns)'
  if (schema['format'] === 'date-time') return 'time (RFC 3339)'
  return typeof type === 'string' ? type : 'any'
}

function mapText(schema: Schema): string {
  const [value] = Object.values(asSchema(schema['patternProperties']))
  return value === undefined ? 'object' : `map of ${typeText(asSchema(value))}`
}

/** A JSON schema as data. */
export type Schema = Readonly<Record<string, unknown>>

/** Deeper values of an example are left out as `{}` and `[]`. */
const DEPTHS = [5, 4, 3, 2, 1]
/** An example has at most this many lines. */
const LINES_MAX = 40

/** Returns a JSON example of a schema, as deep as the line limit allows. */
export function exampleJson(schema: Schema): string {
  const texts = DEPTHS.map((depth) => JSON.stringify(exampleOf(schema, depth), undefined, 2))
  const lines = (text: string) => text.split('\n').length
  return texts.find((text) => lines(text) <= LINES_MAX) ?? shorten(texts.at(-1) ?? '')
}

function shorten(text: string): string {
  const lines = text.split('\n')
  const shown = lines.slice(0, LINES_MAX - 2)
  return [...shown, `  … ${lines.length - LINES_MAX + 1} more fields`, '}'].join('\n')
}

function exampleOf(schema: Schema, depth: number): unknown {
  if ('const' in schema) return schema['const']
  if ('default' in schema) return schema['default']
  const [choice] = asArray(schema['enum'])
  if (choice !== undefined) return choice
  const variants = asArray(schema['anyOf']).map(asSchema)
  const variant = variants.find((one) => one['type'] !== 'null') ?? variants[0]
  if (variant !== undefined)
    return depth <= 1 && hasNull(variants) ? null : exampleOf(variant, depth)
  const merged = asArray(schema['allOf']).map((one) => exampleOf(asSchema(one), depth))
  if (merged.length > 0) return Object.assign({}, ...merged.map(Object))
  return exampleOfType(schema, depth)
}

function hasNull(variants: readonly Schema[]): boolean {
  return variants.some((one) => one['type'] === 'null')
}

function exampleOfType(schema: Schema, depth: number): unknown {
  switch (schema['type']) {
    case 'string':
      return exampleString(schema)
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? schema['minimum'] : 0
    case 'boolean':
      return false
    case 'null':
      return null
    case 'array':
      return depth <= 1 ? [] : [exampleOf(asSchema(schema['items']), depth - 1)]
    case 'object':
      return exampleObject(schema, depth)
    default:
      return {}
  }
}

function exampleObject(schema: Schema, depth: number): unknown {
  const properties = Object.entries(asSchema(schema['properties']))
  if (depth <= 1) return {}
  return Object.fromEntries(
    properties.map(([name, inner]) => [name, exampleOf(asSchema(inner), depth - 1)]),
  )
}

const BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-01-02T03:04:05Z',
  uuid: '8a7f3c52-1c1f-4b53-9d3a-0c9f0b1a2d3e',
}

function exampleString(schema: Schema): string {
  const format = schema['format']
  return (typeof format === 'string' ? BY_FORMAT[format] : undefined) ?? ''
}

export function asSchema(value: unknown): Schema {
  // Every object may be read by names; those that are absent are undefined.
  return typeof value === 'object' && value !== null ? (value as Schema) : {}
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
