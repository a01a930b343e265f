/** Words of the key schedule and of the four boxes; the boxes follow one another in one array. */
export interface Blowfish {
  readonly keys: Uint32Array
  readonly boxes: Uint32Array
}

const KEY_WORDS = 18
const BOX_WORDS = 4 * 256

/** The initial state is the fraction of pi, computed on first use and kept. */
export function makeBlowfish(): Blowfish {
  piWords ??= fractionOfPi(KEY_WORDS + BOX_WORDS)
  return { keys: piWords.slice(0, KEY_WORDS), boxes: piWords.slice(KEY_WORDS) }
}

let piWords: Uint32Array | undefined

/**
 * Bits computed beyond those that are kept: each of the thousands of terms may be wrong by one in
 * the last.
 */
const GUARD_BITS = 64n

/** Machin: a quarter of pi is four times the arc tangent of 1/5 less that of 1/239. */
function fractionOfPi(wordCount: number): Uint32Array {
  const bits = BigInt(32 * wordCount)
  const one = 1n << (bits + GUARD_BITS)
  const pi = 4n * (4n * arcTangentOfInverse(5n, one) - arcTangentOfInverse(239n, one))
  let fraction = (pi - 3n * one) >> GUARD_BITS
  const words = new Uint32Array(wordCount)
  for (let index = wordCount - 1; index >= 0; index--) {
    words[index] = Number(fraction & 0xffffffffn)
    fraction >>= 32n
  }
  return words
}

function arcTangentOfInverse(x: bigint, one: bigint): bigint {
  let power = one / x
  let sum = power
  for (let odd = 3n, sign = -1n; power !== 0n; odd += 2n, sign = -sign) {
    power /= x * x
    sum += (sign * power) / odd
  }
  return sum
}

/** A block of two words. */
export type Block = Uint32Array

/** Sixteen rounds in place. */
export function encrypt({ keys, boxes }: Blowfish, block: Block): void {
  let left = (block[0] ?? 0) ^ (keys[0] ?? 0)
  let right = block[1] ?? 0
  for (let round = 1; round <= 16; round += 2) {
    right ^= mix(boxes, left) ^ (keys[round] ?? 0)
    left ^= mix(boxes, right) ^ (keys[round + 1] ?? 0)
  }
  block[0] = right ^ (keys[17] ?? 0)
  block[1] = left
}

function mix(boxes: Uint32Array, word: number): number {
  const sum = (boxes[word >>> 24] ?? 0) + (boxes[0x100 | ((word >>> 16) & 0xff)] ?? 0)
  const mixed = sum ^ (boxes[0x200 | ((word >>> 8) & 0xff)] ?? 0)
  return (mixed + (boxes[0x300 | (word & 0xff)] ?? 0)) | 0
}

/**
 * Replaces the state by what it encrypts to. Each block is first mixed with the next two words of
 * the salt, which repeats; a salt of zeros leaves them alone.
 */
export function expandKey(state: Blowfish, key: Uint32Array, salt: Uint32Array): void {
  const { keys, boxes } = state
  for (let index = 0; index < KEY_WORDS; index++)
    keys[index] = (keys[index] ?? 0) ^ (key[index] ?? 0)
  const block = new Uint32Array(2)
  let at = 0
  for (const words of [keys, boxes])
    for (let index = 0; index < words.length; index += 2) {
      block[0] = (block[0] ?? 0) ^ (salt[at] ?? 0)
      block[1] = (block[1] ?? 0) ^ (salt[at + 1] ?? 0)
      at = (at + 2) & 3
      encrypt(state, block)
      words[index] = block[0] ?? 0
      words[index + 1] = block[1] ?? 0
    }
}

/** The bytes, repeated, as the words of a key. */
export function keyWords(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(KEY_WORDS)
  for (let at = 0; at < KEY_WORDS * 4; at++)
    words[at >> 2] = ((words[at >> 2] ?? 0) << 8) | (bytes[at % bytes.length] ?? 0)
  return words
}
