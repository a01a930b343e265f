import { decodeBase64 } from '../../../kit/base64.ts'

export interface PemBlock {
  readonly label: string
  readonly bytes: Uint8Array
  /** What stands behind the block. */
  readonly rest: string
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----[^\S\n]*\n?/g

/** The blocks of PEM text (RFC 7468); what stands between them does not count. */
export function readPem(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = []
  for (const match of text.matchAll(BLOCK)) {
    const [whole, label = '', body = ''] = match
    // Older keys have lines such as `DEK-Info: …` in front of their content.
    const content = body.replace(/^[A-Za-z-]+:.*$/gm, '').replace(/\s+/g, '')
    const bytes = decodeBase64(content)
    const rest = text.slice(match.index + whole.length)
    if (bytes !== undefined) blocks.push({ label, bytes, rest })
  }
  return blocks
}
