import type { YamlValue } from './value.ts'

/**
 * The merge key `<<`: adds the members of one mapping or of several, of which the first wins. Not
 * part of YAML 1.2 but the most common use of anchors. Returns false if the value is neither.
 */
export function mergeInto(target: Map<string, YamlValue>, value: YamlValue): boolean {
  const sources: readonly YamlValue[] = isSequence(value) ? value : [value]
  for (const source of sources) {
    if (!isMapping(source)) return false
    for (const [name, member] of Object.entries(source))
      if (!target.has(name)) target.set(name, member)
  }
  return true
}

function isSequence(value: YamlValue): value is readonly YamlValue[] {
  return Array.isArray(value)
}

function isMapping(value: YamlValue): value is { readonly [name: string]: YamlValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
