import { blake2b } from '@noble/hashes/blake2.js'
import { encodeBase64 } from './base64.ts'
import { encodeUtf8 } from './utf8.ts'

/** BLAKE2b-256 of the text's UTF-8 bytes in base64: the `Hash` of stored records. */
export function blake2b256(text: string): string {
  return encodeBase64(blake2b(encodeUtf8(text), { dkLen: 32 }))
}
