export type Json = Readonly<Record<string, unknown>>

/** Named schemas, each written once and referred to by name everywhere. */
export class SchemaComponents {
  readonly #schemas = new Map<string, Json>()

  /**
   * With `isInput`, the shape as `/v1` takes it in a request: every field may be absent.
   */
  refer(schema: object, isInput = false): Json {
    const { $id, ...all } = plain(schema)
    const { required: _required, ...relaxed } = all
    const rest = isInput ? relaxed : all
    if (typeof $id !== 'string') return this.#inside(rest, isInput)
    const name = isInput && !$id.endsWith('Request') ? `${$id}Input` : $id
    if (!this.#schemas.has(name)) {
      // Entered before it is filled, so that a shape that contains itself ends.
      this.#schemas.set(name, {})
      this.#schemas.set(name, this.#inside(rest, isInput))
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  sorted(): Json {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => compare(a, b)))
  }

  #inside(schema: Json, isInput: boolean): Json {
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, this.#value(key, value, isInput)]),
    )
  }

  #value(key: string, value: unknown, isInput: boolean): unknown {
    if (Array.isArray(value))
      return value.map((one: unknown) => (isObject(one) ? this.refer(one, isInput) : one))
    if (!isObject(value)) return value
    // `properties` and `patternProperties` map names to schemas; they are no schemas themselves.
    if (key === 'properties' || key === 'patternProperties')
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [
          name,
          isObject(inner) ? this.refer(inner, isInput) : inner,
        ]),
      )
    return this.refer(value, isInput)
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
