/**
 * An int of the language: 64 bits, wrapping. A number where that is exact, which makes most
 * arithmetic fast; otherwise a bigint.
 */
export type Int = number | bigint

/** A float without a fraction. Numbers with a fraction need no wrapper. */
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
