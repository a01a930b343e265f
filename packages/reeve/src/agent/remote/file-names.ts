import { isUtf8 } from 'node:buffer'

/**
 * File names are bytes, and JSON has only text. A name that is not UTF-8 is written with `\xNN` for
 * each backslash and for each byte past ASCII. A path may be given in the same form; one that
 * exists as it is written wins.
 */
export function textOfName(name: Buffer, isTaken: (text: string) => boolean): string {
  if (isUtf8(name)) return name.toString('utf8')
  const text = escaped(name, (byte) => byte >= 0x80 || byte === BACKSLASH)
  // Another file has this very text as its name: written out in full, no name is the same.
  return isTaken(text) ? escaped(name, () => true) : text
}

const BACKSLASH = 0x5c

function escaped(name: Buffer, isEscaped: (byte: number) => boolean): string {
  return Array.from(name, (byte) =>
    isEscaped(byte) ? `\\x${byte.toString(16).padStart(2, '0')}` : String.fromCharCode(byte),
  ).join('')
}

/** A path as a string of one character per byte. */
export type BytePath = string

export function toBytePath(path: string): BytePath {
  return Buffer.from(path, 'utf8').toString('latin1')
}

/** For the functions of `node:fs`, with `encoding: 'latin1'` for what they return. */
export function bufferOf(path: BytePath): Buffer {
  return Buffer.from(path, 'latin1')
}

const ESCAPE = /\\x([0-9a-f]{2})/g

/** The path that is meant when the names in it are escaped; undefined when none is. */
export function unescapedPath(path: string): BytePath | undefined {
  const bytes = toBytePath(path)
  const meant = bytes.replaceAll(ESCAPE, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return meant === bytes ? undefined : meant
}
