import { compareText } from '@reeve/kit/sorted-list.ts'

/** Fields of a request; null leaves a field at its default. */
export type PartialInput<T> = { readonly [K in keyof T]?: T[K] | null | undefined }

/**
 * Returns the defaults, overridden by each layer in turn. Fields that are not in the defaults are
 * dropped, so `defaults` must name every field of the shape.
 */
export function applyDefaults<T extends object>(
  defaults: T,
  ...layers: readonly (PartialInput<T> | null | undefined)[]
): T {
  // A copy keeps the hidden class of the defaults; objects built from entries are slower to read.
  const result = { ...defaults }
  for (const layer of layers) {
    if (isUnset(layer)) continue
    // Proof: the keys are those of `defaults`, and a layer has the same shape.
    for (const name of Object.keys(defaults) as (keyof T)[])
      result[name] = layer[name] ?? result[name]
  }
  return result
}

/** Converts a list; unset and empty lists become null. */
export function listOrNull<I, O>(
  list: readonly I[] | null | undefined,
  convert: (entry: I) => O,
): readonly O[] | null {
  return isUnset(list) || list.length === 0 ? null : list.map(convert)
}

export function stringsOrNull(
  list: readonly string[] | null | undefined,
): readonly string[] | null {
  return listOrNull(list, (text) => text)
}

/** Like `listOrNull`, for maps. Keys are sorted, so that equal maps have equal encodings. */
export function mapOrNull<I, O>(
  map: Readonly<Record<string, I | null | undefined>> | null | undefined,
  convert: (value: I | null | undefined, key: string) => O,
): Readonly<Record<string, O>> | null {
  if (isUnset(map)) return null
  const entries = Object.entries(map).toSorted(([a], [b]) => compareText(a, b))
  if (entries.length === 0) return null
  return Object.fromEntries(entries.map(([key, value]) => [key, convert(value, key)]))
}

/** Converts a string map; null values become empty strings. */
export function stringMapOrNull(
  map: Readonly<Record<string, string | null | undefined>> | null | undefined,
): Readonly<Record<string, string>> | null {
  return mapOrNull(map, (value) => value ?? '')
}

/** Keeps a free-form structure unchanged; an empty one becomes null. */
export function opaqueOrNull(
  map: Readonly<Record<string, unknown>> | null | undefined,
): Readonly<Record<string, unknown>> | null {
  return isUnset(map) || Object.keys(map).length === 0 ? null : map
}

export function isUnset(value: unknown): value is null | undefined {
  return value === null || value === undefined
}

/** Returns the fallback for an unset or empty string. */
export function nonEmptyOr(text: string | null | undefined, fallback: string): string {
  return isUnset(text) || text === '' ? fallback : text
}
