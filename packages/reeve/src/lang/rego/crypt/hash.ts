import { md5 } from '../../../kit/md5.ts'
import { sha1 } from '../../../kit/sha1.ts'
import { sha256 } from '../../../kit/sha256.ts'
import { sha384, sha512 } from '../../../kit/sha512.ts'
import { joinBytes } from '../../../kit/bytes.ts'

export interface Hash {
  readonly name: 'md5' | 'sha1' | 'sha256' | 'sha384' | 'sha512'
  readonly size: number
  readonly blockSize: number
  readonly digest: (message: Uint8Array) => Uint8Array
}

export const MD5: Hash = { name: 'md5', size: 16, blockSize: 64, digest: md5 }
export const SHA1: Hash = { name: 'sha1', size: 20, blockSize: 64, digest: sha1 }
export const SHA256: Hash = { name: 'sha256', size: 32, blockSize: 64, digest: sha256 }
export const SHA384: Hash = { name: 'sha384', size: 48, blockSize: 128, digest: sha384 }
export const SHA512: Hash = { name: 'sha512', size: 64, blockSize: 128, digest: sha512 }

/** RFC 2104. */
export function hmac(hash: Hash, key: Uint8Array, message: Uint8Array): Uint8Array {
  const short = key.length > hash.blockSize ? hash.digest(key) : key
  const block = new Uint8Array(hash.blockSize)
  block.set(short)
  const inner = hash.digest(
    joinBytes(
      block.map((byte) => byte ^ 0x36),
      message,
    ),
  )
  return hash.digest(
    joinBytes(
      block.map((byte) => byte ^ 0x5c),
      inner,
    ),
  )
}
