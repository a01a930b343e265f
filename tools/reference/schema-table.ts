import { code, sentence, table } from './page.ts'
import { asSchema, asArray, type Schema } from './sample.ts'

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
