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

/**
 * Parameters or responses that several operations share. Values that occur more than once are
 * written once, under `components`, and referenced: most operations have the same parameters and
 * errors, and inlined copies would triple the size of the document.
 */
export class SharedComponents {
  readonly #member: string
  readonly #uses = new Map<string, { readonly value: Json; readonly hint: string; count: number }>()

  /** `place` is the member of `components` that contains the values. */
  constructor(place: 'parameters' | 'responses') {
    this.#member = place
  }

  /** Counts one use. The component's name is derived from `hint`. */
  add(value: Json, hint: string): void {
    const text = cachedJson(value)
    const use = this.#uses.get(text)
    if (use === undefined) this.#uses.set(text, { value, hint, count: 1 })
    else use.count += 1
  }

  /**
   * Returns the components by name, and a function that replaces a value by its reference. Call it
   * last.
   */
  finish(): { readonly components: Json; readonly refer: (value: Json) => Json } {
    const names = new Map<string, string>()
    const components: Record<string, Json> = {}
    const shared = [...this.#uses].filter(([, { count }]) => count > 1)
    // Sorted by content, so that the names do not depend on the order of the routes.
    for (const [text, { value, hint }] of shared.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const name = uniqueName(slug(hint), components)
      components[name] = value
      names.set(text, name)
    }
    const refer = (value: Json): Json => {
      const name = names.get(cachedJson(value))
      return name === undefined ? value : { $ref: `#/components/${this.#member}/${name}` }
    }
    return { components: sorted(components), refer }
  }
}

/** Cached JSON texts of values, which are compared several times. */
const jsonCache = new WeakMap<Json, string>()

export function cachedJson(value: Json): string {
  const cached = jsonCache.get(value)
  if (cached !== undefined) return cached
  const text = JSON.stringify(value)
  jsonCache.set(value, text)
  return text
}

/** Returns a valid component name: `page[size]` becomes `page-size`. */
function slug(hint: string): string {
  return (hint.match(/[A-Za-z0-9_]+/g) ?? []).join('-')
}

function uniqueName(baseName: string, existing: Json): string {
  let name = baseName
  for (let i = 2; Object.hasOwn(existing, name); i += 1) name = `${baseName}-${i}`
  return name
}

function sorted(components: Json): Json {
  return Object.fromEntries(Object.entries(components).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
