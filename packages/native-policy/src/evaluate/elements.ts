import { valueOfKey } from '../value/map.ts'
import { isMap, ListValue, typeOf, Undefined, type Key, type Value } from '../value/value.ts'

/**
 * The elements that `for` and quantifiers iterate over, in order. A list may grow during iteration.
 */
export type Elements =
  | { readonly kind: 'list'; readonly list: ListValue }
  | { readonly kind: 'map'; readonly keys: readonly Key[]; readonly get: (key: Key) => Value }
  | { readonly kind: 'undefined'; readonly value: Undefined }

/**
 * One element. A loop with one variable receives `item`: the value of a list or the key of a map.
 */
export interface Element {
  readonly key: Value
  readonly value: Value
  readonly item: Value
}

/** Calls `throwNotIterable` for values that cannot be iterated. */
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

export function notIterableMessage(collection: Value): string {
  return `only a list or a map can be gone through, not ${typeOf(collection)}`
}

/** Calls `visit` for each element until it returns true. */
export function eachElement(
  elements: Exclude<Elements, { kind: 'undefined' }>,
  payer: { charge(steps: number): void },
  visit: (element: Element) => boolean,
): void {
  if (elements.kind === 'list') {
    for (const [index, item] of elements.list.items.entries()) {
      payer.charge(1)
      if (visit({ key: index, value: item, item: item })) return
    }
    return
  }
  for (const key of elements.keys) {
    payer.charge(1)
    const own = valueOfKey(key)
    if (visit({ key: own, value: elements.get(key), item: own })) return
  }
}
