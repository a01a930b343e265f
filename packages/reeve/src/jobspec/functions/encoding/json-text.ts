import { isList, isNumber, isObject, numberToText, sortedEntries, type Value } from '@reeve/hcl'

/**
 * Writes JSON with sorted names and exact numbers. Escapes HTML characters, and U+2028 and U+2029,
 * which some parsers treat as line breaks.
 */
export function toJsonString(value: Value): string {
  if (isNumber(value)) return numberToText(value)
  if (isList(value)) return `[${value.map(toJsonString).join(',')}]`
  if (!isObject(value)) return escape(JSON.stringify(value))
  const members = sortedEntries(value).map(
    ([name, one]) => `${escape(JSON.stringify(name))}:${toJsonString(one)}`,
  )
  return `{${members.join(',')}}`
}

const SPECIAL = /[<>&\u2028\u2029]/g

function escape(text: string): string {
  return text.replace(SPECIAL, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
