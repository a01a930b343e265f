import { decodeBase64 } from './base64.ts'

/** One block of PEM text (RFC 7468), its content not decoded yet. */
export interface PemText {
  readonly label: string
  /** Base64 without blanks. */
  readonly content: string
  /** Lines such as `DEK-Info: …`, which older keys have in front of their content. */
  readonly headers: readonly string[]
  /** What stands behind the block. */
  readonly rest: string
}

export interface PemBlock {
  readonly label: string
  readonly bytes: Uint8Array
  readonly rest: string
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----((?:(?!-----)[\s\S])*)-----END \1-----[^\S\n]*\n?/g
const HEADER = /^[A-Za-z-]+:.*$/gm

/** The blocks of a text; what stands between them does not count. */
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

/** Those whose content can be decoded. */
export function readPem(text: string): readonly PemBlock[] {
  return findPem(text).flatMap(({ label, content, rest }) => {
    const bytes = decodeBase64(content)
    return bytes === undefined ? [] : [{ label, bytes, rest }]
  })
}
