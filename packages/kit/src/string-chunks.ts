/**
 * A string, or its consecutive parts. Encoders need not join the parts first: a joined string of a
 * megabyte only adds work for the garbage collector.
 */
export type StringChunks = string | readonly string[]

/** Maximum number of UTF-8 bytes per UTF-16 unit. */
export const UTF8_BYTES_PER_UNIT_MAX = 3

export function joinChunks(text: StringChunks): string {
  return typeof text === 'string' ? text : text.join('')
}

export function chunksLength(text: StringChunks): number {
  if (typeof text === 'string') return text.length
  let chars = 0
  for (const part of text) chars += part.length
  return chars
}
