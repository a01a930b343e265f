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
