import { hmac as hmacOf } from '@noble/hashes/hmac.js'
import { md5, sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { blake2b } from '@noble/hashes/blake2.js'
import { encodeBase64 } from './base64.ts'
import { encodeUtf8 } from './utf8.ts'

const FUNCTIONS = { md5, sha1, sha256, sha384, sha512 } as const

export interface Hash {
  readonly name: keyof typeof FUNCTIONS
  readonly blockSize: number
  readonly digest: (message: Uint8Array) => Uint8Array
}

export const MD5 = hashOf('md5')
export const SHA1 = hashOf('sha1')
export const SHA256 = hashOf('sha256')
export const SHA384 = hashOf('sha384')
export const SHA512 = hashOf('sha512')

function hashOf<N extends Hash['name']>(name: N): Hash & { readonly name: N } {
  const digest = FUNCTIONS[name]
  return { name, blockSize: digest.blockLen, digest }
}

/** HMAC (RFC 2104). */
export function hmac({ name }: Hash, key: Uint8Array, message: Uint8Array): Uint8Array {
  return hmacOf(FUNCTIONS[name], key, message)
}

/** BLAKE2b-256 of the text's UTF-8 bytes in base64: the `Hash` of stored records. */
export function blake2b256(text: string): string {
  return encodeBase64(blake2b(encodeUtf8(text), { dkLen: 32 }))
}
