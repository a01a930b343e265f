import { forEachBlock, rootFractions } from './hash-block.ts'

const ROUNDS = 80
const CONSTANTS = BigUint64Array.from(rootFractions(ROUNDS, 3))
const INITIAL = BigUint64Array.from(rootFractions(8, 2))
/** From the ninth prime to the sixteenth. */
const INITIAL_384 = BigUint64Array.from(rootFractions(16, 2).slice(8))

/**
 * FIPS 180-4, section 6.4. Words of 64 bits are big integers cut to size: a few times slower than
 * pairs of halves, and readable.
 */
export function sha512(message: Uint8Array): Uint8Array {
  return digest(message, INITIAL)
}

/** FIPS 180-4, section 6.5: the same from other words, and cut. */
export function sha384(message: Uint8Array): Uint8Array {
  return digest(message, INITIAL_384).subarray(0, 48)
}

function digest(message: Uint8Array, initial: BigUint64Array): Uint8Array {
  const state = BigUint64Array.from(initial)
  const schedule = new BigUint64Array(ROUNDS)
  forEachBlock(message, { blockBytes: 128, isLittleEndian: false }, (block) =>
    compress(state, schedule, block),
  )
  const bytes = new Uint8Array(64)
  const view = new DataView(bytes.buffer)
  for (const [index, word] of state.entries()) view.setBigUint64(index * 8, word)
  return bytes
}

function compress(state: BigUint64Array, schedule: BigUint64Array, block: DataView): void {
  fillSchedule(schedule, block)
  let [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n, g = 0n, h = 0n] = state
  for (let round = 0; round < ROUNDS; round++) {
    const choice = (e & f) ^ (~e & g)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const constant = (CONSTANTS[round] ?? 0n) + (schedule[round] ?? 0n)
    const mixed = h + turned(e, [14n, 18n, 41n]) + choice + constant
    h = g
    g = f
    f = e
    e = BigInt.asUintN(64, d + mixed)
    d = c
    c = b
    b = a
    a = BigInt.asUintN(64, mixed + turned(b, [28n, 34n, 39n]) + majority)
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries())
    state[index] = (state[index] ?? 0n) + word
}

function fillSchedule(schedule: BigUint64Array, block: DataView): void {
  for (let at = 0; at < 16; at++) schedule[at] = block.getBigUint64(at * 8)
  const word = (at: number) => schedule[at] ?? 0n
  for (let at = 16; at < ROUNDS; at++) {
    const [early, late] = [word(at - 15), word(at - 2)]
    const low = turnRight(early, 1n) ^ turnRight(early, 8n) ^ (early >> 7n)
    const high = turnRight(late, 19n) ^ turnRight(late, 61n) ^ (late >> 6n)
    schedule[at] = word(at - 16) + low + word(at - 7) + high
  }
}

function turned(word: bigint, bits: readonly [bigint, bigint, bigint]): bigint {
  return turnRight(word, bits[0]) ^ turnRight(word, bits[1]) ^ turnRight(word, bits[2])
}

function turnRight(word: bigint, bits: bigint): bigint {
  return (word >> bits) | BigInt.asUintN(64, word << (64n - bits))
}
