import { valueOfKey } from '../value/map.ts'
import { isMap, ListValue, typeOf, Undefined, type Key, type Value } from '../value/value.ts'

/** What `for` and the quantifiers go through, in order. Lists may grow while they are gone through. */
export type Elements =
  | { readonly kind: 'list'; readonly list: ListValue }
  | { readonly kind: 'map'; readonly keys: readonly Key[]; readonly get: (key: Key) => Value }
  | { readonly kind: 'undefined'; readonly value: Undefined }

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
  visit: (key: Value, value: Value) => boolean,
): void {
  if (elements.kind === 'list') {
    for (const [index, item] of elements.list.items.entries()) {
      payer.charge(1)
      if (visit(index, item)) return
    }
    return
  }
  for (const key of elements.keys) {
    payer.charge(1)
    if (visit(valueOfKey(key), elements.get(key))) return
  }
}
