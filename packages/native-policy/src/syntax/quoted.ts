import { textOfBytes } from '../value/bytes.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'

type Quoted =
  | { readonly value: string; readonly end: number }
  | { readonly problem: string; readonly at: number }

const PLAIN = /[^"\\\n]+/y
const OCTAL = /[0-7]{3}/y
const SHORT: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
}
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

/** Reads the string literal at `start`, in quotes or backquotes. */
export function readQuoted(text: string, start: number): Quoted {
  if (text[start] === '`') {
    const end = text.indexOf('`', start + 1)
    if (end === -1) return { problem: 'the string is not closed: "`" is missing', at: start }
    return { value: text.slice(start + 1, end).replaceAll('\r', ''), end: end + 1 }
  }
  const parts: (string | number)[] = []
  for (let at = start + 1; ;) {
    PLAIN.lastIndex = at
    const plain = PLAIN.exec(text)?.[0]
    if (plain !== undefined) {
      parts.push(plain)
      at += plain.length
    }
    const character = text[at]
    if (character === '"') return { value: join(parts), end: at + 1 }
    if (character !== '\\')
      return { problem: "the string is not closed: '\"' is missing", at: start }
    const escape = readEscape(text, at)
    if ('problem' in escape) return { ...escape, at }
    parts.push(escape.part)
    at = escape.end
  }
}

type Escape =
  | { readonly part: string | number; readonly end: number }
  | { readonly problem: string }

/** A numeric escape stands for one byte. */
function readEscape(text: string, at: number): Escape {
  const letter = text[at + 1] ?? ''
  const short = SHORT[letter]
  if (short !== undefined) return { part: short, end: at + 2 }
  OCTAL.lastIndex = at + 1
  const octal = OCTAL.exec(text)?.[0]
  if (octal !== undefined) {
    const byte = Number.parseInt(octal, 8)
    if (byte > 0xff) return { problem: `"\\${octal}" is more than one byte holds` }
    return { part: byte, end: at + 4 }
  }
  const digits = HEX_DIGITS[letter]
  if (digits === undefined) return { problem: `"\\${letter}" is no escape` }
  const hex = text.slice(at + 2, at + 2 + digits)
  if (hex.length < digits || !/^[0-9a-fA-F]+$/.test(hex))
    return { problem: `"\\${letter}" needs ${digits} hexadecimal digits` }
  const code = Number.parseInt(hex, 16)
  const end = at + 2 + digits
  if (letter === 'x') return { part: code, end }
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return { problem: `"\\${letter}${hex}" is no character` }
  return { part: String.fromCodePoint(code), end }
}

function join(parts: readonly (string | number)[]): string {
  if (parts.every((part) => typeof part === 'string')) return parts.join('')
  const bytes = parts.flatMap((part) =>
    typeof part === 'number' ? [part] : Array.from(encodeUtf8(part)),
  )
  return textOfBytes(Uint8Array.from(bytes))
}
