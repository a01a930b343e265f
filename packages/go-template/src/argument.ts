import { fail } from './template-error.ts'
import { isList, isMap, typeNameOf, type Value } from './value.ts'

/** Readers of the arguments of functions; each refuses what is of another type. */
export function text(value: Value): string {
  return typeof value === 'string' ? value : wrong('string', value)
}

export function list(value: Value): readonly Value[] {
  return isList(value) ? value : wrong('list', value)
}

export function map(value: Value): ReadonlyMap<string, Value> {
  return isMap(value) ? value : wrong('map', value)
}

/** A whole number that fits where counts are meant. */
export function count(value: Value): number {
  if (typeof value !== 'bigint') return wrong('int', value)
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : fail(`${value} is too large`)
}

function wrong(wanted: string, value: Value): never {
  return fail(`wrong type for value; expected ${wanted}; got ${typeNameOf(value)}`)
}

/** Go's `int` has 64 bits; what does not fit wraps around. */
export function int64(value: bigint): bigint {
  return BigInt.asIntN(64, value)
}
