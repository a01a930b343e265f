/** Characters that are not escaped in a quoted string: visible ones and the space. */
const VISIBLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

const SHORT: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '"': '\\"',
  '\\': '\\\\',
}

const PLAIN = /^[ !#-[\]-~]*$/

/** Returns the string in double quotes, as messages show values. */
export function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  let quoted = '"'
  for (const character of text.toWellFormed())
    quoted += SHORT[character] ?? (VISIBLE.test(character) ? character : escaped(character))
  return `${quoted}"`
}

/** Returns the string in double quotes with all non-ASCII characters escaped. */
export function quoteAscii(text: string): string {
  let quoted = '"'
  for (const character of text.toWellFormed())
    quoted += SHORT[character] ?? (PLAIN.test(character) ? character : escaped(character))
  return `${quoted}"`
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`
  return code < 0x10000
    ? `\\u${code.toString(16).padStart(4, '0')}`
    : `\\U${code.toString(16).padStart(8, '0')}`
}
