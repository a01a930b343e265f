/** A JSON schema as data. */
export type Schema = Readonly<Record<string, unknown>>

/** Deeper values of an example are left out as `{}` and `[]`. */
const DEPTHS = [5, 4, 3, 2, 1]
/** An example has at most this many lines. */
const LINES_MAX = 40

/** A small JSON example of a schema: the deepest one that still is short. */
export function sampleText(schema: Schema): string {
  const texts = DEPTHS.map((depth) => JSON.stringify(sampleOf(schema, depth), undefined, 2))
  const lines = (text: string) => text.split('\n').length
  return texts.find((text) => lines(text) <= LINES_MAX) ?? shortened(texts.at(-1) ?? '')
}

function shortened(text: string): string {
  const lines = text.split('\n')
  const shown = lines.slice(0, LINES_MAX - 2)
  return [...shown, `  … ${lines.length - LINES_MAX + 1} more fields`, '}'].join('\n')
}

function sampleOf(schema: Schema, depth: number): unknown {
  if ('const' in schema) return schema['const']
  if ('default' in schema) return schema['default']
  const [choice] = listOf(schema['enum'])
  if (choice !== undefined) return choice
  const variants = listOf(schema['anyOf']).map(asSchema)
  const variant = variants.find((one) => one['type'] !== 'null') ?? variants[0]
  if (variant !== undefined)
    return depth <= 1 && hasNull(variants) ? null : sampleOf(variant, depth)
  const merged = listOf(schema['allOf']).map((one) => sampleOf(asSchema(one), depth))
  if (merged.length > 0) return Object.assign({}, ...merged.map(Object))
  return ofType(schema, depth)
}

function hasNull(variants: readonly Schema[]): boolean {
  return variants.some((one) => one['type'] === 'null')
}

function ofType(schema: Schema, depth: number): unknown {
  switch (schema['type']) {
    case 'string':
      return sampleString(schema)
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? schema['minimum'] : 0
    case 'boolean':
      return false
    case 'null':
      return null
    case 'array':
      return depth <= 1 ? [] : [sampleOf(asSchema(schema['items']), depth - 1)]
    case 'object':
      return sampleObject(schema, depth)
    default:
      return {}
  }
}

function sampleObject(schema: Schema, depth: number): unknown {
  const properties = Object.entries(asSchema(schema['properties']))
  if (depth <= 1) return {}
  return Object.fromEntries(
    properties.map(([name, inner]) => [name, sampleOf(asSchema(inner), depth - 1)]),
  )
}

const BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-01-02T03:04:05Z',
  uuid: '8a7f3c52-1c1f-4b53-9d3a-0c9f0b1a2d3e',
}

function sampleString(schema: Schema): string {
  const format = schema['format']
  return (typeof format === 'string' ? BY_FORMAT[format] : undefined) ?? ''
}

export function asSchema(value: unknown): Schema {
  // Every object may be read by names; those that are absent are undefined.
  return typeof value === 'object' && value !== null ? (value as Schema) : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
