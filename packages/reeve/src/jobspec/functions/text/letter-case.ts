/**
 * Converts case by code point: the number of characters stays the same, and no conversion depends
 * on context. So `ß` has no upper case, and a final sigma is not special.
 */
export function toUpper(text: string): string {
  return ASCII.test(text) ? text.toUpperCase() : [...text].map(upperOf).join('')
}

export function toLower(text: string): string {
  return ASCII.test(text) ? text.toLowerCase() : [...text].map(lowerOf).join('')
}

const ASCII = /^[\0-\x7f]*$/

function upperOf(character: string): string {
  const upper = character.toUpperCase()
  return isSingleCodePoint(upper) ? upper : character
}

/** Only `İ` has a lower case of two code points: the dot is dropped. */
function lowerOf(character: string): string {
  const [first = character] = character.toLowerCase()
  return first
}

function isSingleCodePoint(text: string): boolean {
  return text.length === String.fromCodePoint(text.codePointAt(0) ?? 0).length
}

/** Capitalizes the first letter of every word; a word starts after any separator. */
export function toTitle(text: string): string {
  let isStart = true
  let title = ''
  for (const character of text) {
    title += isStart ? upperOf(character) : character
    isStart = isSeparator(character)
  }
  return title
}

const WORD = /^[\p{L}\p{Nd}_]$/u
const WIDE_SPACE = /^\p{White_Space}$/u

/**
 * All ASCII characters except letters, digits and underscores separate words; of the others only
 * spaces do.
 */
function isSeparator(character: string): boolean {
  if (WORD.test(character)) return false
  return ASCII.test(character) || WIDE_SPACE.test(character)
}
