import type { YamlValue } from '@reeve/kit/yaml/index.ts'
import { keyText } from '../value/json-text.ts'
import { fromBigInt, fromDouble, toBigInt, toDouble } from '../value/number.ts'
import { isArray, isNumber, ObjectBuilder, type Value } from '../value/value.ts'

export function fromYamlValue(value: YamlValue): Value {
  if (typeof value === 'number') return fromDouble(value) ?? 0
  if (typeof value === 'bigint') return fromBigInt(value) ?? 0
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(fromYamlValue)
  const builder = new ObjectBuilder()
  for (const [name, item] of Object.entries(value)) builder.set(name, fromYamlValue(item))
  return builder.build()
}

export function toYamlValue(value: Value): YamlValue {
  if (isNumber(value)) {
    if (typeof value === 'number') return value
    return toBigInt(value) ?? toDouble(value)
  }
  if (typeof value !== 'object' || value === null) return value
  if (isArray(value)) return value.map(toYamlValue)
  if (value.kind === 'set') return value.sorted().map(toYamlValue)
  return Object.fromEntries(value.entries().map(([key, item]) => [keyText(key), toYamlValue(item)]))
}
