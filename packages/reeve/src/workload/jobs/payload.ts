import { err, ok, type Result } from '@reeve/kit/result.ts'

/** A payload as it is stored: base64 without line breaks. */
export interface Payload {
  readonly base64: string
  readonly bytes: number
}

/** Reads base64 as clients write it: line breaks are ignored. */
export function parseBase64Payload(text: string): Result<Payload, string> {
  const at = firstInvalidChar(text)
  if (at !== undefined) return err(`illegal base64 data at input byte ${at}`)
  const base64 = text.replaceAll(/[\r\n]/g, '')
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return ok({ base64, bytes: (base64.length / 4) * 3 - padding })
}

const BASE64_CHAR = /[A-Za-z0-9+/]/
const PADDING = '='

/** Returns the position of the first invalid character; undefined if the text is valid. */
function firstInvalidChar(text: string): number | undefined {
  let charCount = 0
  for (let position = 0; position < text.length; position++) {
    const char = text.charAt(position)
    if (isLineBreak(char)) continue
    if (char === PADDING) return invalidPaddingAt(text, position, charCount % 4)
    if (!BASE64_CHAR.test(char)) return position
    charCount += 1
  }
  // Otherwise the last group is incomplete.
  return charCount % 4 === 0 ? undefined : text.length - (charCount % 4)
}

/**
 * Checks the padding: two characters after two letters of a group, one after three, and then the
 * end.
 */
function invalidPaddingAt(text: string, start: number, charsInGroup: number): number | undefined {
  if (charsInGroup < 2) return start
  let missing = 4 - charsInGroup
  for (let position = start; position < text.length; position++) {
    const char = text.charAt(position)
    if (isLineBreak(char)) continue
    if (char !== PADDING || missing === 0) return position
    missing -= 1
  }
  return missing === 0 ? undefined : text.length
}

function isLineBreak(char: string): boolean {
  return char === '\n' || char === '\r'
}
