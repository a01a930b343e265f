import { encodeBase64 } from './base64.ts'
import { encodeUtf8 } from './utf8.ts'

/**
 * BLAKE2b (RFC 7693) with a digest of 256 bits and no key. Reference §6.4 wants it for the `Hash`
 * of tokens, policies and roles. A 64-bit word is two 32-bit halves, low half first: policies are
 * large enough for big integers to be felt.
 */
const DIGEST_BYTES = 32
const BLOCK_BYTES = 128
const ROUNDS = 12

// RFC 7693, section 2.6: the initial words, low half first.
const INITIAL: readonly number[] = [
  0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
  0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
]

// RFC 7693, section 2.7: the order of message words in each round; rounds 10 and 11 start over.
const SCHEDULE: readonly (readonly number[])[] = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
]

// RFC 7693, section 3.2: the columns, then the diagonals, of the 4 by 4 matrix of words.
const LANES: readonly Lane[] = [
  { a: 0, b: 4, c: 8, d: 12 },
  { a: 1, b: 5, c: 9, d: 13 },
  { a: 2, b: 6, c: 10, d: 14 },
  { a: 3, b: 7, c: 11, d: 15 },
  { a: 0, b: 5, c: 10, d: 15 },
  { a: 1, b: 6, c: 11, d: 12 },
  { a: 2, b: 7, c: 8, d: 13 },
  { a: 3, b: 4, c: 9, d: 14 },
]
interface Lane {
  readonly a: number
  readonly b: number
  readonly c: number
  readonly d: number
}

/** The digest of the text's UTF-8 bytes, in base64. */
export function blake2b256(text: string): string {
  const bytes = encodeUtf8(text)
  const state = Uint32Array.from(INITIAL)
  state[0] = half(state, 0) ^ 0x01010000 ^ DIGEST_BYTES
  const blocks = Math.max(1, Math.ceil(bytes.length / BLOCK_BYTES))
  for (let index = 0; index < blocks; index += 1) {
    const end = Math.min((index + 1) * BLOCK_BYTES, bytes.length)
    const block = new Uint8Array(BLOCK_BYTES)
    block.set(bytes.subarray(index * BLOCK_BYTES, end))
    compress(state, block, { bytesSoFar: end, isLast: index === blocks - 1 })
  }
  return encodeBase64(digestOf(state))
}

function digestOf(state: Uint32Array): Uint8Array {
  const digest = new Uint8Array(DIGEST_BYTES)
  const view = new DataView(digest.buffer)
  for (let at = 0; at < DIGEST_BYTES; at += 4) view.setUint32(at, half(state, at / 4), true)
  return digest
}

function compress(
  state: Uint32Array,
  block: Uint8Array,
  { bytesSoFar, isLast }: { readonly bytesSoFar: number; readonly isLast: boolean },
): void {
  // Words 0 to 15 are the matrix, words 16 to 31 the message.
  const words = new Uint32Array(64)
  words.set(state)
  words.set(INITIAL, 16)
  // The counter has 128 bits, but a text has fewer than 2^32 bytes: one half is enough.
  words[24] = half(words, 24) ^ bytesSoFar
  if (isLast) {
    words[28] = ~half(words, 28)
    words[29] = ~half(words, 29)
  }
  const view = new DataView(block.buffer)
  for (let at = 0; at < BLOCK_BYTES; at += 4) words[32 + at / 4] = view.getUint32(at, true)
  for (let round = 0; round < ROUNDS; round += 1) mix(words, round)
  for (let at = 0; at < state.length; at += 1)
    state[at] = half(state, at) ^ half(words, at) ^ half(words, at + 16)
}

function mix(words: Uint32Array, round: number): void {
  const order = SCHEDULE[round % SCHEDULE.length] ?? []
  let at = 0
  for (const lane of LANES) {
    mixLane(words, lane, [order[at] ?? 0, order[at + 1] ?? 0])
    at += 2
  }
}

/** RFC 7693, section 3.1: mixes two message words into four words of the matrix. */
function mixLane(
  words: Uint32Array,
  { a, b, c, d }: Lane,
  [x, y]: readonly [number, number],
): void {
  add(words, a, b)
  add(words, a, 16 + x)
  xor(words, d, a)
  rotateRight(words, d, 32)
  add(words, c, d)
  xor(words, b, c)
  rotateRight(words, b, 24)
  add(words, a, b)
  add(words, a, 16 + y)
  xor(words, d, a)
  rotateRight(words, d, 16)
  add(words, c, d)
  xor(words, b, c)
  rotateRight(words, b, 63)
}

function add(words: Uint32Array, to: number, from: number): void {
  const low = half(words, to * 2) + half(words, from * 2)
  const carry = low > 0xffffffff ? 1 : 0
  words[to * 2] = low
  words[to * 2 + 1] = half(words, to * 2 + 1) + half(words, from * 2 + 1) + carry
}

function xor(words: Uint32Array, to: number, from: number): void {
  words[to * 2] = half(words, to * 2) ^ half(words, from * 2)
  words[to * 2 + 1] = half(words, to * 2 + 1) ^ half(words, from * 2 + 1)
}

function rotateRight(words: Uint32Array, word: number, bits: number): void {
  const isSwapped = bits >= 32
  const low = half(words, word * 2 + (isSwapped ? 1 : 0))
  const high = half(words, word * 2 + (isSwapped ? 0 : 1))
  const rest = bits % 32
  // A shift by 32 is a shift by 0, so a plain swap is told apart.
  words[word * 2] = rest === 0 ? low : (low >>> rest) | (high << (32 - rest))
  words[word * 2 + 1] = rest === 0 ? high : (high >>> rest) | (low << (32 - rest))
}

/** Every index is made from constants within the array; the fallback only satisfies the type. */
function half(words: Uint32Array, index: number): number {
  return words[index] ?? 0
}
