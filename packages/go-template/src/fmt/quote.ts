/** What stands in a quoted text as it is: what is seen, and the plain space. */
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

/** The text in double quotes, as values are written in messages. */
export function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  let quoted = '"'
  for (const character of text.toWellFormed())
    quoted += SHORT[character] ?? (VISIBLE.test(character) ? character : escaped(character))
  return `${quoted}"`
}

/** The same with everything beyond ASCII escaped. */
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
