/**
 * Case by single code points: a text keeps its number of characters and no letter depends on its
 * neighbours. So `ß` has no capital, and a sigma at the end of a word is like any other.
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
  return isOne(upper) ? upper : character
}

/** Only a dotted capital I has a small form of two code points: the dot is dropped. */
function lowerOf(character: string): string {
  const [first = character] = character.toLowerCase()
  return first
}

function isOne(text: string): boolean {
  return text.length === String.fromCodePoint(text.codePointAt(0) ?? 0).length
}

/** The first letter of every word is capital; a word begins after anything that is no letter. */
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

/** Every ASCII sign separates words; of the others only blanks do. */
function isSeparator(character: string): boolean {
  if (WORD.test(character)) return false
  return ASCII.test(character) || WIDE_SPACE.test(character)
}
