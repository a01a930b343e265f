import { forEachBlock, rotateLeft, wordsToBytes } from './hash-block.ts'

const INITIAL = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476]

/** RFC 1321, section 3.4: the sines of 1 to 64 radians. */
const SINES = Uint32Array.from({ length: 64 }, (_, index) =>
  Math.floor(Math.abs(Math.sin(index + 1)) * 2 ** 32),
)

/** Left rotations of the four rounds; each repeats its four. */
const ROTATIONS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const

/** RFC 1321. For compatibility only: it protects nothing. */
export function md5(message: Uint8Array): Uint8Array {
  const state = Uint32Array.from(INITIAL)
  forEachBlock(message, { blockBytes: 64, isLittleEndian: true }, (block) => compress(state, block))
  return wordsToBytes(state, true)
}

function compress(state: Uint32Array, block: DataView): void {
  let [a = 0, b = 0, c = 0, d = 0] = state
  for (let step = 0; step < 64; step++) {
    const round = step >> 4
    const { mixed, word } = mix(round, step, { b, c, d })
    const sum = (a + mixed + (SINES[step] ?? 0) + block.getUint32(word * 4, true)) | 0
    a = d
    d = c
    c = b
    b = (b + rotateLeft(sum, ROTATIONS[round]?.[step & 3] ?? 0)) | 0
  }
  for (const [index, word] of [a, b, c, d].entries()) state[index] = (state[index] ?? 0) + word
}

interface Words {
  readonly b: number
  readonly c: number
  readonly d: number
}

/** What a round mixes, and which word of the block its step takes. */
function mix(
  round: number,
  step: number,
  { b, c, d }: Words,
): { readonly mixed: number; readonly word: number } {
  if (round === 0) return { mixed: (b & c) | (~b & d), word: step }
  if (round === 1) return { mixed: (b & d) | (c & ~d), word: (5 * step + 1) & 15 }
  if (round === 2) return { mixed: b ^ c ^ d, word: (3 * step + 5) & 15 }
  return { mixed: c ^ (b | ~d), word: (7 * step) & 15 }
}
