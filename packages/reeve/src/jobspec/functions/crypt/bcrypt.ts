import { encodeUtf8 } from '../../../kit/utf8.ts'
import { encrypt, expandKey, keyWords, makeBlowfish } from './blowfish.ts'

export const SALT_BYTES = 16
const DIGEST_BYTES = 23
const ALPHABET = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

export interface BcryptOptions {
  /** The rounds as a power of two. */
  readonly cost: number
  readonly salt: Uint8Array
}

/** `$2a$10$…`: the password is followed by a zero byte, and 72 bytes count. */
export function bcrypt(password: Uint8Array, { cost, salt }: BcryptOptions): string {
  const key = keyWords(Uint8Array.from([...password, 0]))
  const saltKey = keyWords(salt)
  const zeros = new Uint32Array(4)
  const state = makeBlowfish()
  expandKey(state, key, saltKey)
  for (let round = 2 ** cost; round > 0; round--) {
    expandKey(state, key, zeros)
    expandKey(state, saltKey, zeros)
  }
  const digest = new Uint8Array(24)
  const view = new DataView(digest.buffer)
  for (const [index, half] of MAGIC.entries()) {
    const block = Uint32Array.from(half)
    for (let time = 0; time < 64; time++) encrypt(state, block)
    view.setUint32(index * 8, block[0] ?? 0)
    view.setUint32(index * 8 + 4, block[1] ?? 0)
  }
  const costText = String(cost).padStart(2, '0')
  return `$2a$${costText}$${encode(salt)}${encode(digest.subarray(0, DIGEST_BYTES))}`
}

/** What is encrypted 64 times with the final state, in blocks of two words. */
const MAGIC = toBlocks(encodeUtf8('OrpheanBeholderScryDoubt'))

function toBlocks(bytes: Uint8Array): readonly (readonly number[])[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return [0, 8, 16].map((at) => [view.getUint32(at), view.getUint32(at + 4)])
}

/** Base64 with an alphabet of its own, without padding. */
function encode(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(at, at + 3)
    const group = (a << 16) | (b << 8) | c
    for (const shift of [18, 12, 6, 0]) text += ALPHABET.charAt((group >> shift) & 0x3f)
  }
  return text.slice(0, Math.ceil((bytes.length * 8) / 6))
}
