import type { IdSource, Random } from '@reeve/kit/clock.ts'

const KIND_DIGITS = { node: 'a', alloc: 'b', eval: 'c', any: 'd' } as const

/** A UUID that says what it names; equal calls give equal IDs. */
export function anId(kind: keyof typeof KIND_DIGITS, number: number): string {
  const digits = number.toString(16).padStart(12, '0')
  return `${KIND_DIGITS[kind].repeat(8)}-0000-4000-8000-${digits}`
}

/** IDs in order, so that a test can say which one comes next. */
export function countedIds(kind: keyof typeof KIND_DIGITS = 'any'): IdSource {
  let count = 0
  return { uuid: () => anId(kind, ++count) }
}

/** Numbers that look random and are the same for the same seed. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), state | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
  }
}
