import { convert, typeOf, unifyAll, type Value } from '@reeve/hcl'

/** Converts all values to their common type; undefined if there is none. */
export function unifyValues(values: readonly Value[]): readonly Value[] | undefined {
  const type = unifyAll(values.map(typeOf))
  if (type === undefined) return undefined
  const converted: Value[] = []
  for (const value of values) {
    const one = convert(value, type)
    if (!one.ok) return undefined
    converted.push(one.value)
  }
  return converted
}
