/**
 * Splits into grapheme clusters, which users perceive as one character: a letter with its accents,
 * a flag, a family.
 */
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * Text in which every code unit is a grapheme. A carriage return might form one with a line feed.
 */
const SIMPLE = /^[^\r\u0080-\uffff]*$/

export function splitGraphemes(text: string): readonly string[] {
  if (SIMPLE.test(text)) return text.split('')
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

export function countGraphemes(text: string): number {
  return SIMPLE.test(text) ? text.length : splitGraphemes(text).length
}

/** The first graphemes, without scanning the rest. */
export function takeGraphemes(text: string, count: number): readonly string[] {
  if (SIMPLE.test(text)) return text.slice(0, count).split('')
  const taken: string[] = []
  for (const { segment } of segmenter.segment(text)) {
    if (taken.length >= count) break
    taken.push(segment)
  }
  return taken
}
