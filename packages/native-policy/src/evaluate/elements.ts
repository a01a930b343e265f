import { valueOfKey } from '../value/map.ts'
import { isMap, ListValue, typeOf, Undefined, type Key, type Value } from '../value/value.ts'

/**
 * What `for` and the quantifiers go through, in order. A list may grow while it is gone through.
 */
export type Elements =
  | { readonly kind: 'list'; readonly list: ListValue }
  | { readonly kind: 'map'; readonly keys: readonly Key[]; readonly get: (key: Key) => Value }
  | { readonly kind: 'undefined'; readonly value: Undefined }

/** One element; with one name, a loop gets the value in a list and the key in a map. */
export interface Element {
  readonly key: Value
  readonly value: Value
  readonly sole: Value
}

/** `refuse` says that the value cannot be gone through. */
export function elementsOf(collection: Value, refuse: () => never): Elements {
  if (collection instanceof ListValue)
    return { kind: 'list', list: new ListValue([...collection.items]) }
  if (isMap(collection)) {
    const map = collection
    return { kind: 'map', keys: map.keys(), get: (key) => map.get(key) ?? null }
  }
  if (collection instanceof Undefined) return { kind: 'undefined', value: collection }
  return refuse()
}

export function refusal(collection: Value): string {
  return `only a list or a map can be gone through, not ${typeOf(collection)}`
}

/** Calls `visit` for each element until it says that this is enough. */
export function eachElement(
  elements: Exclude<Elements, { kind: 'undefined' }>,
  payer: { charge(steps: number): void },
  visit: (element: Element) => boolean,
): void {
  if (elements.kind === 'list') {
    for (const [index, item] of elements.list.items.entries()) {
      payer.charge(1)
      if (visit({ key: index, value: item, sole: item })) return
    }
    return
  }
  for (const key of elements.keys) {
    payer.charge(1)
    const own = valueOfKey(key)
    if (visit({ key: own, value: elements.get(key), sole: own })) return
  }
}
