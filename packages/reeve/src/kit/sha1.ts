import { forEachBlock, rotateLeft, wordsToBytes } from './hash-block.ts'

const INITIAL = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0]

/** FIPS 180-4, section 6.1. For compatibility only: collisions are known. */
export function sha1(message: Uint8Array): Uint8Array {
  const state = Uint32Array.from(INITIAL)
  const schedule = new Uint32Array(80)
  forEachBlock(message, { blockBytes: 64, isLittleEndian: false }, (block) =>
    compress(state, schedule, block),
  )
  return wordsToBytes(state, false)
}

function compress(state: Uint32Array, schedule: Uint32Array, block: DataView): void {
  fillSchedule(schedule, block)
  let [a = 0, b = 0, c = 0, d = 0, e = 0] = state
  for (let step = 0; step < 80; step++) {
    const { mixed, constant } = mix(step, b, { c, d })
    const sum = (rotateLeft(a, 5) + mixed + e + constant + (schedule[step] ?? 0)) | 0
    e = d
    d = c
    c = rotateLeft(b, 30)
    b = a
    a = sum
  }
  for (const [index, word] of [a, b, c, d, e].entries()) state[index] = (state[index] ?? 0) + word
}

function fillSchedule(schedule: Uint32Array, block: DataView): void {
  for (let at = 0; at < 16; at++) schedule[at] = block.getUint32(at * 4)
  const word = (at: number) => schedule[at] ?? 0
  for (let at = 16; at < 80; at++)
    schedule[at] = rotateLeft(word(at - 3) ^ word(at - 8) ^ word(at - 14) ^ word(at - 16), 1)
}

function mix(
  step: number,
  b: number,
  { c, d }: { readonly c: number; readonly d: number },
): { readonly mixed: number; readonly constant: number } {
  if (step < 20) return { mixed: (b & c) | (~b & d), constant: 0x5a827999 }
  if (step < 40) return { mixed: b ^ c ^ d, constant: 0x6ed9eba1 }
  if (step < 60) return { mixed: (b & c) | (b & d) | (c & d), constant: 0x8f1bbcdc }
  return { mixed: b ^ c ^ d, constant: 0xca62c1d6 }
}
