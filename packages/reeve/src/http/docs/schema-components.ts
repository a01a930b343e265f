export type Json = Readonly<Record<string, unknown>>

/** Named schemas; each is written once and referenced by name. */
export class SchemaComponents {
  readonly #schemas = new Map<string, Json>()

  reference(schema: object): Json {
    const { $id, ...rest } = plainSchema(schema)
    if (typeof $id !== 'string') return this.#referenceChildren(rest)
    if (!this.#schemas.has($id)) {
      // Registered before its content, so that recursive schemas terminate.
      this.#schemas.set($id, {})
      this.#schemas.set($id, this.#referenceChildren(rest))
    }
    return { $ref: `#/components/schemas/${$id}` }
  }

  sorted(): Json {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => compare(a, b)))
  }

  #referenceChildren(schema: Json): Json {
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, this.#value(key, value)]),
    )
  }

  #value(key: string, value: unknown): unknown {
    if (Array.isArray(value))
      return value.map((one: unknown) => (isObject(one) ? this.reference(one) : one))
    if (!isObject(value)) return value
    // `properties` and `patternProperties` map names to schemas; they are no schemas themselves.
    if (key === 'properties' || key === 'patternProperties')
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [
          name,
          isObject(inner) ? this.reference(inner) : inner,
        ]),
      )
    return this.reference(value)
  }
}

/** Copies a schema as plain data, without TypeBox's non-enumerable symbols (`~kind` and others). */
export function plainSchema(schema: object): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !key.startsWith('~')))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
