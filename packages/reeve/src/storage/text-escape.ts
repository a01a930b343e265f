/**
 * Escapes a text so that UTF-8 represents it exactly and it contains no NUL, which separates the
 * parts of a key. NUL, the escape character and unpaired surrogates become the escape character and
 * four hex digits. Almost no text needs escaping, and the check is cheap.
 */
export function escapeText(text: string): string {
  if (text.isWellFormed() && !text.includes(NUL) && !text.includes(ESCAPE)) return text
  return text.replace(UNSAFE_CHARACTERS, escapeCharacter)
}

/** True if these UTF-8 bytes contain a character to escape. */
export function needsEscape(bytes: Buffer): boolean {
  return bytes.includes(0) || bytes.includes(1)
}

export function unescapeText(text: string): string {
  return text.includes(ESCAPE) ? text.replace(ESCAPE_SEQUENCES, unescapeCharacter) : text
}

const NUL = '\u0000'
const ESCAPE = '\u0001'
const UNSAFE_CHARACTERS = new RegExp(`[${NUL}${ESCAPE}\\p{Surrogate}]`, 'gu')
const ESCAPE_SEQUENCES = new RegExp(`${ESCAPE}([0-9a-f]{4})`, 'g')

function escapeCharacter(character: string): string {
  return ESCAPE + character.charCodeAt(0).toString(16).padStart(4, '0')
}

function unescapeCharacter(_: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16))
}
