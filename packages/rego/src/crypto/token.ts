import { err, ok, type Result } from '@reeve/kit/result.ts'
import { decodeBase64Url } from '@reeve/kit/base64.ts'
import { decodeUtf8Lossy } from '@reeve/kit/utf8.ts'
import { parseHclJson } from '../value/json.ts'
import { ObjectValue } from '../value/value.ts'

/**
 * A token in compact form (RFC 7515, section 7.1): three base64url strings, separated by periods.
 */
export interface Token {
  readonly header: ObjectValue
  /** Encoded as in the token. */
  readonly payload: string
  readonly signature: string
  /** The signed part of the token. */
  readonly signed: string
}

export function parseJwt(text: string): Result<Token, string> {
  const parts = text.split('.')
  const [head = '', payload = '', signature = ''] = parts
  if (parts.length === 1) return err('encoded JWT had no period separators')
  if (parts.length !== 3) return err(`encoded JWT must have 3 sections, found ${parts.length}`)
  const decoded = decodeText(head)
  if (!decoded.ok) return err(`JWT header had invalid encoding: ${decoded.error}`)
  const header = parseHclJson(decoded.value)
  if (!header.ok) return err(`bad JWT header: invalid JSON: ${header.error}`)
  if (!(header.value instanceof ObjectValue))
    return err('bad JWT header: decoded JSON type was not an Object')
  if (header.value.has('enc')) return err('JWT is a JWE object, which is not supported')
  return ok({ header: header.value, payload, signature, signed: `${head}.${payload}` })
}

/** Reports whether the payload is another token. */
export function isNestedJwt({ header }: Token): boolean {
  const type = header.get('cty')
  return typeof type === 'string' && type.toUpperCase() === 'JWT'
}

/** Decodes a part; some encoders keep the padding. */
export function decodePart(part: string): Result<Uint8Array, string> {
  const bytes = decodeBase64Url(part.replace(/={1,2}$/, ''))
  if (bytes !== undefined) return ok(bytes)
  return part.length % 4 === 1 && !/[^A-Za-z0-9_-]/.test(part)
    ? err(`illegal base64url string: ${part}`)
    : err(findBadBase64(part.padEnd(Math.ceil(part.length / 4) * 4, '='), 'url'))
}

export function decodeText(part: string): Result<string, string> {
  const bytes = decodePart(part)
  return bytes.ok ? ok(decodeUtf8Lossy(bytes.value)) : bytes
}

/** A nested token may be plain or a JSON string. */
export function unquoted(text: string): string {
  return /^"[^"\\]*"$/.test(text) ? text.slice(1, -1) : text
}

const STANDARD = /[A-Za-z0-9+/]/
const URL_SAFE = /[A-Za-z0-9_-]/

/** The complaint about a text that is no base64, with the place of the first wrong character. */
export function findBadBase64(text: string, alphabet: 'standard' | 'url' = 'standard'): string {
  const allowed = alphabet === 'url' ? URL_SAFE : STANDARD
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '\n' || character === '\r') continue
    const isEnd = character === '=' && count % 4 >= 2 && /^=*[\r\n]*$/.test(text.slice(at))
    if (isEnd && (count + text.slice(at).replace(/[^=]/g, '').length) % 4 === 0) break
    if (!allowed.test(character)) return `illegal base64 data at input byte ${at}`
    count++
  }
  return `illegal base64 data at input byte ${Math.floor(count / 4) * 4}`
}
