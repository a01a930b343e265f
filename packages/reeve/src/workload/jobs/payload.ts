import { err, ok, type Result } from '@reeve/kit/result.ts'

/** A payload as it is stored: base64 without line breaks. */
export interface Payload {
  readonly base64: string
  readonly bytes: number
}

/** Reads base64 as clients write it: line breaks are ignored. */
export function readPayload(text: string): Result<Payload, string> {
  const at = firstIllegal(text)
  if (at !== undefined) return err(`illegal base64 data at input byte ${at}`)
  const base64 = text.replaceAll(/[\r\n]/g, '')
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return ok({ base64, bytes: (base64.length / 4) * 3 - padding })
}

const LETTER = /[A-Za-z0-9+/]/
const PADDING = '='

/** Returns the position of the first invalid character; undefined if the text is valid. */
function firstIllegal(text: string): number | undefined {
  let letters = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (isBreak(char)) continue
    if (char === PADDING) return illegalPadding(text, at, letters % 4)
    if (!LETTER.test(char)) return at
    letters += 1
  }
  // Otherwise the last group is incomplete.
  return letters % 4 === 0 ? undefined : text.length - (letters % 4)
}

/**
 * Checks the padding: two characters after two letters of a group, one after three, and then the
 * end.
 */
function illegalPadding(text: string, from: number, letters: number): number | undefined {
  if (letters < 2) return from
  let missing = 4 - letters
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at)
    if (isBreak(char)) continue
    if (char !== PADDING || missing === 0) return at
    missing -= 1
  }
  return missing === 0 ? undefined : text.length
}

function isBreak(char: string): boolean {
  return char === '\n' || char === '\r'
}
