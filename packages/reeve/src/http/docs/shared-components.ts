import type { Json } from './schema-components.ts'

/**
 * Parameters or responses of all operations. Those that occur more than once are written once,
 * under `components`, and referred to by name: most operations take the same parameters and have
 * the same errors, and the document would be three times the size with a copy in each.
 */
export class SharedComponents {
  readonly #place: string
  readonly #uses = new Map<string, { readonly value: Json; readonly hint: string; count: number }>()

  /** `place` is the member of `components` that holds them. */
  constructor(place: 'parameters' | 'responses') {
    this.#place = place
  }

  /** Counts one use. `hint` is what the name of the component is made from. */
  add(value: Json, hint: string): void {
    const text = textOf(value)
    const use = this.#uses.get(text)
    if (use === undefined) this.#uses.set(text, { value, hint, count: 1 })
    else use.count += 1
  }

  /** The components by name, and what an operation has in place of a value. Call it last. */
  seal(): { readonly components: Json; readonly refer: (value: Json) => Json } {
    const names = new Map<string, string>()
    const components: Record<string, Json> = {}
    const shared = [...this.#uses].filter(([, { count }]) => count > 1)
    // Sorted by content, so that the names do not depend on the order of the routes.
    for (const [text, { value, hint }] of shared.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const name = freeName(slug(hint), components)
      components[name] = value
      names.set(text, name)
    }
    const refer = (value: Json): Json => {
      const name = names.get(textOf(value))
      return name === undefined ? value : { $ref: `#/components/${this.#place}/${name}` }
    }
    return { components: sorted(components), refer }
  }
}

/** Each value is compared several times, and written as text once. */
const texts = new WeakMap<Json, string>()

export function textOf(value: Json): string {
  const known = texts.get(value)
  if (known !== undefined) return known
  const text = JSON.stringify(value)
  texts.set(value, text)
  return text
}

/** Names of components have no brackets: `page[size]` becomes `page-size`. */
function slug(hint: string): string {
  return (hint.match(/[A-Za-z0-9_]+/g) ?? []).join('-')
}

function freeName(wanted: string, taken: Json): string {
  let name = wanted
  for (let i = 2; Object.hasOwn(taken, name); i += 1) name = `${wanted}-${i}`
  return name
}

function sorted(components: Json): Json {
  return Object.fromEntries(Object.entries(components).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
