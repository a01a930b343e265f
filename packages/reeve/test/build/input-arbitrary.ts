import fc from 'fast-check'

/** A JSON Schema as TypeBox makes it. */
interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly minimum?: number
}

/**
 * Values of a schema as a request may carry them: any field absent or null, at any depth. So every
 * field of the contract is tried, also those that nobody thought of.
 */
export function inputOf(schema: object, texts: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  return arbitraryOf(schema, texts)
}

function arbitraryOf(schema: JsonSchema, texts: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.anyOf !== undefined)
    return fc.oneof(...schema.anyOf.map((one) => arbitraryOf(one, texts)))
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(
      ([name, field]) =>
        [name, fc.option(arbitraryOf(field, texts), { freq: 2, nil: null })] as const,
    )
    return fc.record(Object.fromEntries(fields), { requiredKeys: [], noNullPrototype: true })
  }
  switch (schema.type) {
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}, texts), { maxLength: 2 })
    case 'object': {
      const [value = {}] = Object.values(schema.patternProperties ?? {})
      return fc.dictionary(texts, arbitraryOf(value, texts), { maxKeys: 2, noNullPrototype: true })
    }
    case 'string':
      return texts
    case 'integer':
    case 'number':
      return integers(schema.minimum ?? -5)
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return fc.constantFrom(1, 'x', true)
  }
}

/** Small ones mean something more often than large ones. */
function integers(min: number): fc.Arbitrary<number> {
  return fc.oneof(
    fc.constantFrom(0, 1, Math.max(min, -1)),
    fc.maxSafeNat(),
    fc.integer({ min, max: 9 }),
  )
}
