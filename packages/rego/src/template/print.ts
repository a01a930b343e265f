import { STRING_LENGTH_MAX } from '../limits.ts'
import { jsonText } from '../value/json-text.ts'
import { LimitReached } from '../value/limit-reached.ts'
import { numberText } from '../value/number.ts'
import { isArray, isNumber, ObjectValue, SetValue, type Value } from '../value/value.ts'

/** Texts as they are, lists as `[a b]`, objects as `map[name:value]`. */
export function printText(value: Value | undefined): string {
  if (value === undefined || value === null) return '<undefined>'
  if (typeof value === 'string') return value
  if (isNumber(value)) return numberText(value)
  if (typeof value === 'boolean') return String(value)
  // Shared parts are written out at every use; this refuses what would grow too large.
  if (jsonText(value).length > STRING_LENGTH_MAX) throw new LimitReached('a text is too long')
  return compositeText(value)
}

function compositeText(value: Value): string {
  if (isArray(value)) return `[${value.map(compositeText).join(' ')}]`
  if (value instanceof SetValue) return `[${value.sorted().map(compositeText).join(' ')}]`
  if (value instanceof ObjectValue)
    return `map[${value
      .entries()
      .map(([key, item]) => `${compositeText(key)}:${compositeText(item)}`)
      .join(' ')}]`
  if (value === null) return '<nil>'
  return isNumber(value) ? numberText(value) : String(value)
}

/** Zero and everything empty is false. */
export function isTrue(value: Value | undefined): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '')
    return false
  if (isArray(value)) return value.length > 0
  return value instanceof ObjectValue || value instanceof SetValue ? value.size > 0 : true
}
