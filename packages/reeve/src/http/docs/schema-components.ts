export type Json = Readonly<Record<string, unknown>>

/** Named schemas, each written once and referred to by name everywhere. */
export class SchemaComponents {
  readonly #schemas = new Map<string, Json>()

  refer(schema: object): Json {
    const { $id, ...rest } = plain(schema)
    if (typeof $id !== 'string') return this.#inside(rest)
    if (!this.#schemas.has($id)) {
      // Entered before it is filled, so that a shape that contains itself ends.
      this.#schemas.set($id, {})
      this.#schemas.set($id, this.#inside(rest))
    }
    return { $ref: `#/components/schemas/${$id}` }
  }

  sorted(): Json {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => compare(a, b)))
  }

  #inside(schema: Json): Json {
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, this.#value(key, value)]),
    )
  }

  #value(key: string, value: unknown): unknown {
    if (Array.isArray(value))
      return value.map((one: unknown) => (isObject(one) ? this.refer(one) : one))
    if (!isObject(value)) return value
    // `properties` and `patternProperties` map names to schemas; they are no schemas themselves.
    if (key === 'properties' || key === 'patternProperties')
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [
          name,
          isObject(inner) ? this.refer(inner) : inner,
        ]),
      )
    return this.refer(value)
  }
}

/**
 * A schema as data: TypeBox's own marks (`~kind` and the like) are not enumerable and fall away.
 */
export function plain(schema: object): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !key.startsWith('~')))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
