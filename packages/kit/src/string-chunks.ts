/**
 * A string, or its consecutive parts. Encoders need not join the parts first: a joined string of a
 * megabyte only adds work for the garbage collector.
 */
export type PartedText = string | readonly string[]

/** Maximum number of UTF-8 bytes per UTF-16 unit. */
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
