import { decodeBase64 } from './base64.ts'

/** One block of PEM text (RFC 7468) with its content still encoded. */
export interface PemText {
  readonly label: string
  /** Base64 without whitespace. */
  readonly content: string
  /** Header lines such as `DEK-Info: …` of legacy keys. */
  readonly headers: readonly string[]
  /** The text after the block. */
  readonly rest: string
}

export interface PemBlock {
  readonly label: string
  readonly bytes: Uint8Array
  readonly rest: string
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----((?:(?!-----)[\s\S])*)-----END \1-----[^\S\n]*\n?/g
const HEADER = /^[A-Za-z-]+:.*$/gm

/** All blocks of a text. Text between blocks is ignored. */
export function findPem(text: string): readonly PemText[] {
  return Array.from(text.matchAll(BLOCK), (match) => {
    const [whole, label = '', body = ''] = match
    return {
      label,
      content: body.replace(HEADER, '').replace(/\s+/g, ''),
      headers: body.match(HEADER) ?? [],
      rest: text.slice(match.index + whole.length),
    }
  })
}

/** All blocks whose content is valid base64. */
export function readPem(text: string): readonly PemBlock[] {
  return findPem(text).flatMap(({ label, content, rest }) => {
    const bytes = decodeBase64(content)
    return bytes === undefined ? [] : [{ label, bytes, rest }]
  })
}
