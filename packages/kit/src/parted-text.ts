/**
 * A text, or its parts, which follow each other. Whoever turns it into bytes need not join them
 * first: a joined text of a megabyte is work for the collector, and nothing else.
 */
export type PartedText = string | readonly string[]

/** The most that one unit of a text takes. */
export const UTF8_BYTES_MAX = 3

export function joinedText(text: PartedText): string {
  return typeof text === 'string' ? text : text.join('')
}

export function charsOf(text: PartedText): number {
  if (typeof text === 'string') return text.length
  let chars = 0
  for (const part of text) chars += part.length
  return chars
}
