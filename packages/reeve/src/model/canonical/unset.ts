import { compareText } from '@reeve/kit/sorted-list.ts'

/** A flat record as a request carries it: null leaves a field at its default. */
export type Layer<T> = { readonly [K in keyof T]?: T[K] | null | undefined }

/**
 * The defaults, overlaid by each layer in turn. Fields that are not in the defaults are dropped, so
 * `defaults` must name every field of the shape.
 */
export function fillUnset<T extends object>(
  defaults: T,
  ...layers: readonly (Layer<T> | null | undefined)[]
): T {
  // A copy has the shape of what it copies; made of entries, each would be looked up by name later.
  const filled = { ...defaults }
  for (const layer of layers) {
    if (isUnset(layer)) continue
    // The keys are those of `defaults`, and a layer has the same shape.
    for (const name of Object.keys(defaults) as (keyof T)[])
      filled[name] = layer[name] ?? filled[name]
  }
  return filled
}

/** Unset and empty lists are the same thing to everybody, so both become null. */
export function listOrNull<I, O>(
  list: readonly I[] | null | undefined,
  convert: (entry: I) => O,
): readonly O[] | null {
  return isUnset(list) || list.length === 0 ? null : list.map(convert)
}

export function textsOrNull(list: readonly string[] | null | undefined): readonly string[] | null {
  return listOrNull(list, (text) => text)
}

/** As listOrNull for maps. Keys are sorted, so that equal maps are equal bytes wherever they go. */
export function mapOrNull<I, O>(
  map: Readonly<Record<string, I | null | undefined>> | null | undefined,
  convert: (value: I | null | undefined, key: string) => O,
): Readonly<Record<string, O>> | null {
  if (isUnset(map)) return null
  const entries = Object.entries(map).toSorted(([a], [b]) => compareText(a, b))
  if (entries.length === 0) return null
  return Object.fromEntries(entries.map(([key, value]) => [key, convert(value, key)]))
}

/** A null value of a map of texts is the text's zero value, not an absent key. */
export function textMapOrNull(
  map: Readonly<Record<string, string | null | undefined>> | null | undefined,
): Readonly<Record<string, string>> | null {
  return mapOrNull(map, (value) => value ?? '')
}

/** A structure we never look into: kept as it is, but none when it holds nothing. */
export function opaqueOrNull(
  map: Readonly<Record<string, unknown>> | null | undefined,
): Readonly<Record<string, unknown>> | null {
  return isUnset(map) || Object.keys(map).length === 0 ? null : map
}

export function isUnset(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

/** For texts that cannot be meant when empty, such as a namespace. */
export function textOr(text: string | null | undefined, fallback: string): string {
  return isUnset(text) || text === '' ? fallback : text
}
