/**
 * A whole number of the language: 64 bits, wrapping. A plain number where that is exact, so that
 * nearly all arithmetic is; a bigint beyond.
 */
export type Int = number | bigint

/** A number with a fraction is its own mark; one without needs to say that it is a float. */
export class Float {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export function wrapInt(value: bigint): Int {
  const wrapped = BigInt.asIntN(64, value)
  return wrapped >= MIN_SAFE && wrapped <= MAX_SAFE ? Number(wrapped) : wrapped
}

export function floatOf(value: number): number | Float {
  return Number.isInteger(value) ? new Float(value) : value
}

const MIN_SAFE = BigInt(Number.MIN_SAFE_INTEGER)
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)
