import type { IdSource, Random } from '@reeve/kit/clock.ts'
import { seededRandom } from '../test/build/ids.ts'

/**
 * Random numbers for one part of the world. Each part has its own stream, so that a new consumer
 * does not shift the numbers of others.
 */
export class RandomStream implements Random {
  readonly #random: Random

  constructor(seed: number, stream: string) {
    this.#random = seededRandom(hashSeed(seed, stream))
  }

  next(): number {
    return this.#random.next()
  }

  /** An integer from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.next() * list.length)]
  }

  /** One item of a non-empty list. */
  choose<T>(...list: readonly [T, ...T[]]): T {
    return this.pick(list) ?? list[0]
  }
}

/** Identifiers in the order of creation, unique within one world. */
export class SequentialIds implements IdSource {
  readonly #digit: string
  #count = 0

  constructor(digit: string) {
    this.#digit = digit
  }

  /** The first characters differ, so that abbreviated ids differ too. */
  uuid(): string {
    this.#count += 1
    const hex = this.#count.toString(16).padStart(8, '0')
    return `${hex}-0000-4000-8000-${this.#digit.repeat(4)}${hex}`
  }
}

/** FNV-1a over the name, so that streams of adjacent seeds are unrelated. */
function hashSeed(seed: number, text: string): number {
  let hash = 0x811c9dc5
  for (const character of `${seed}/${text}`)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}
