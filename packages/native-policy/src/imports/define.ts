import { hostFunction } from '../evaluate/builtins.ts'
import {
  type CallContext,
  type FunctionValue,
  type Int,
  isFunction,
  isInt,
  isMap,
  isNumeric,
  ListValue,
  type MapValue,
  toNumber,
  typeOf,
  Undefined,
  type Value,
} from '../value/value.ts'

/** The argument types by kind. */
interface Kinds {
  readonly string: string
  readonly int: Int
  readonly number: number
  readonly list: ListValue
  readonly map: MapValue
  readonly func: FunctionValue
  readonly any: Value
}
type Kind = keyof Kinds
type Arguments<K extends readonly Kind[]> = { readonly [I in keyof K]: Kinds[K[I]] }

const READERS: { readonly [K in Kind]: (value: Value) => Kinds[K] | undefined } = {
  string: (value) => (typeof value === 'string' ? value : undefined),
  int: (value) => (isInt(value) ? value : undefined),
  number: (value) => (isNumeric(value) ? toNumber(value) : undefined),
  list: (value) => (value instanceof ListValue ? value : undefined),
  map: (value) => (isMap(value) ? value : undefined),
  func: (value) => (isFunction(value) ? value : undefined),
  any: (value) => value,
}

/**
 * Defines a function with arguments of fixed kinds. Undefined arguments give an undefined result.
 */
export function typed<const K extends readonly Kind[]>(
  name: string,
  kinds: K,
  call: (args: Arguments<K>, context: CallContext) => Value,
): FunctionValue {
  return hostFunction(name, [kinds.length, kinds.length], (args, context) => {
    const unknown = args.find((arg, index) => arg instanceof Undefined && kinds[index] !== 'any')
    if (unknown !== undefined) return unknown
    const read = args.map((arg, index) =>
      readAs(arg, { kind: kinds[index] ?? 'any', name, index }, context),
    )
    // Proof: `readArgument` has checked every argument against its kind, in order.
    return call(read as unknown as Arguments<K>, context)
  })
}

interface Wanted {
  readonly kind: Kind
  readonly name: string
  readonly index: number
}

function readAs(value: Value, { kind, name, index }: Wanted, context: CallContext): Kinds[Kind] {
  const read = READERS[kind](value)
  if (read !== undefined) return read
  return context.fail(`argument ${index + 1} of ${name} must be ${kind}, not ${typeOf(value)}`)
}

/** Defines a function with a variable number of arguments, which it reads itself. */
export function defineVariadic(
  name: string,
  arity: readonly [number, number],
  call: (args: readonly Value[], context: CallContext) => Value,
): FunctionValue {
  return hostFunction(name, arity, (args, context) => {
    const unknown = args.find((arg) => arg instanceof Undefined)
    return unknown ?? call(args, context)
  })
}

export function listArgument(
  args: readonly Value[],
  wanted: { readonly name: string; readonly index: number },
  context: CallContext,
): ListValue {
  const value = args[wanted.index] ?? null
  if (value instanceof ListValue) return value
  return context.fail(
    `argument ${wanted.index + 1} of ${wanted.name} must be list, not ${typeOf(value)}`,
  )
}

export function textArgument(
  args: readonly Value[],
  wanted: { readonly name: string; readonly index: number },
  context: CallContext,
): string {
  const value = args[wanted.index] ?? null
  if (typeof value === 'string') return value
  return context.fail(
    `argument ${wanted.index + 1} of ${wanted.name} must be string, not ${typeOf(value)}`,
  )
}
