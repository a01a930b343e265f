import { isUtf8 } from 'node:buffer'

/**
 * Encodes a file name, which is bytes, as a JSON string. A name that is not UTF-8 is written with
 * `\xNN` for each backslash and each non-ASCII byte. Paths in requests may use the same form; an
 * existing literal path takes precedence.
 */
export function displayNameOf(name: Buffer, isTaken: (escapedName: string) => boolean): string {
  if (isUtf8(name)) return name.toString('utf8')
  const escapedName = escapeBytes(name, (byte) => byte >= 0x80 || byte === BACKSLASH)
  // Another file has this name literally: escape every byte to make the name unique.
  return isTaken(escapedName) ? escapeBytes(name, () => true) : escapedName
}

const BACKSLASH = 0x5c

function escapeBytes(name: Buffer, isEscaped: (byte: number) => boolean): string {
  return Array.from(name, (byte) =>
    isEscaped(byte) ? `\\x${byte.toString(16).padStart(2, '0')}` : String.fromCharCode(byte),
  ).join('')
}

/** A path as a string of one character per byte. */
export type BytePath = string

export function toBytePath(path: string): BytePath {
  return Buffer.from(path, 'utf8').toString('latin1')
}

/** Buffer for functions of `node:fs`, which return names with `encoding: 'latin1'`. */
export function bytePathToBuffer(path: BytePath): Buffer {
  return Buffer.from(path, 'latin1')
}

const ESCAPED_BYTE = /\\x([0-9a-f]{2})/g

/** Decodes a path with escaped names; undefined if nothing is escaped. */
export function unescapedPath(path: string): BytePath | undefined {
  const bytes = toBytePath(path)
  const unescaped = bytes.replaceAll(ESCAPED_BYTE, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return unescaped === bytes ? undefined : unescaped
}
