import { forEachBlock, rootFractions, rotateLeft, wordsToBytes } from './hash-block.ts'

const ROUNDS = 64
const CONSTANTS = Uint32Array.from(rootFractions(ROUNDS, 3), upperHalf)
const INITIAL = Uint32Array.from(rootFractions(8, 2), upperHalf)

function upperHalf(fraction: bigint): number {
  return Number(fraction >> 32n)
}

/** FIPS 180-4, section 6.2. */
export function sha256(message: Uint8Array): Uint8Array {
  const state = Uint32Array.from(INITIAL)
  const schedule = new Uint32Array(ROUNDS)
  forEachBlock(message, { blockBytes: 64, isLittleEndian: false }, (block) =>
    compress(state, schedule, block),
  )
  return wordsToBytes(state, false)
}

function compress(state: Uint32Array, schedule: Uint32Array, block: DataView): void {
  fillSchedule(schedule, block)
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let round = 0; round < ROUNDS; round++) {
    const choice = (e & f) ^ (~e & g)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const mixed =
      (h + turned(e, [6, 11, 25]) + choice + (CONSTANTS[round] ?? 0) + (schedule[round] ?? 0)) | 0
    h = g
    g = f
    f = e
    e = (d + mixed) | 0
    d = c
    c = b
    b = a
    a = (mixed + turned(b, [2, 13, 22]) + majority) | 0
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries())
    state[index] = (state[index] ?? 0) + word
}

function fillSchedule(schedule: Uint32Array, block: DataView): void {
  for (let at = 0; at < 16; at++) schedule[at] = block.getUint32(at * 4)
  const word = (at: number) => schedule[at] ?? 0
  for (let at = 16; at < ROUNDS; at++) {
    const [early, late] = [word(at - 15), word(at - 2)]
    const low = turnRight(early, 7) ^ turnRight(early, 18) ^ (early >>> 3)
    const high = turnRight(late, 17) ^ turnRight(late, 19) ^ (late >>> 10)
    schedule[at] = word(at - 16) + low + word(at - 7) + high
  }
}

function turned(word: number, bits: readonly [number, number, number]): number {
  return turnRight(word, bits[0]) ^ turnRight(word, bits[1]) ^ turnRight(word, bits[2])
}

function turnRight(word: number, bits: number): number {
  return rotateLeft(word, 32 - bits)
}
