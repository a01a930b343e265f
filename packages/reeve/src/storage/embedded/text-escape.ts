/**
 * Any text as text that UTF-8 holds exactly and that contains no NUL, which separates the parts of
 * a key. NUL, the escape character itself and unpaired surrogates become the escape character and
 * four hex digits. Nearly all texts need nothing, and finding that out costs little.
 */
export function escapeText(text: string): string {
  if (text.isWellFormed() && !text.includes(NUL) && !text.includes(ESCAPE)) return text
  return text.replace(unsafe, escapeCharacter)
}

/** Whether one of the characters is in these bytes of UTF-8. */
export function needsEscape(bytes: Buffer): boolean {
  return bytes.includes(0) || bytes.includes(1)
}

export function unescapeText(text: string): string {
  return text.includes(ESCAPE) ? text.replace(escaped, unescapeCharacter) : text
}

const NUL = '\u0000'
const ESCAPE = '\u0001'
const unsafe = new RegExp(`[${NUL}${ESCAPE}\\p{Surrogate}]`, 'gu')
const escaped = new RegExp(`${ESCAPE}([0-9a-f]{4})`, 'g')

function escapeCharacter(character: string): string {
  return ESCAPE + character.charCodeAt(0).toString(16).padStart(4, '0')
}

function unescapeCharacter(_: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16))
}
