import { toLazyValue, type JsonValue } from '../value/lazy-map.ts'
import type { Value } from '../value/value.ts'

/**
 * Data of a policy set by import name. A path enters a map: `animals/dogs` is the member `dogs` of
 * `animals`.
 */
export class StaticImports {
  readonly #data: ReadonlyMap<string, JsonValue>

  constructor(data: ReadonlyMap<string, JsonValue>) {
    this.#data = data
  }

  has(path: string): boolean {
    return this.#find(path) !== undefined
  }

  /** Created anew for each evaluation, so that policies do not see each other's changes. */
  value(path: string): Value | undefined {
    const found = this.#find(path)
    return found === undefined ? undefined : toLazyValue(found.plain)
  }

  /** Names may contain slashes themselves: the longest match wins. */
  #find(path: string): { readonly plain: JsonValue } | undefined {
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const plain = this.#data.get(path.slice(0, end))
      if (plain !== undefined) return entered(plain, path.slice(end + 1))
    }
    return undefined
  }
}

function entered(plain: JsonValue, rest: string): { readonly plain: JsonValue } | undefined {
  let at = plain
  for (const key of rest === '' ? [] : rest.split('/')) {
    if (!isObject(at) || !Object.hasOwn(at, key)) return undefined
    at = at[key]
  }
  return { plain: at }
}

function isObject(plain: JsonValue): plain is { readonly [key: string]: JsonValue } {
  return typeof plain === 'object' && plain !== null && !Array.isArray(plain)
}
