import type { Json } from './schema-components.ts'

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
