import { CHARACTERS_PER_STEP, SHOWN_LENGTH_MAX } from '../limits.ts'
import { byteLength } from '../value/bytes.ts'
import {
  type CallContext,
  compareOrdered,
  Float,
  floatOf,
  formatValue,
  type FunctionValue,
  isInt,
  isMap,
  isNumeric,
  ListValue,
  toNumber,
  typeOf,
  Undefined,
  type Value,
  wrapInt,
} from '../value/value.ts'
import { keyOf, valueOfKey } from '../value/map.ts'

type Implementation = (args: readonly Value[], context: CallContext) => Value

/** Wraps a function of the host for policies. */
export function hostFunction(
  name: string,
  arity: readonly [number, number],
  call: Implementation,
): FunctionValue {
  return { isFunction: true, name, arity, call }
}

const NO_LIMIT = Number.POSITIVE_INFINITY

/** The predeclared functions. */
export const BUILTINS: ReadonlyMap<string, FunctionValue> = new Map(
  [
    hostFunction('append', [2, 2], append),
    hostFunction('delete', [2, 2], remove),
    hostFunction('keys', [1, 1], keys),
    hostFunction('values', [1, 1], values),
    hostFunction('length', [1, 1], length),
    hostFunction('range', [1, 3], range),
    hostFunction('int', [1, 1], ([value], context) => toInt(value ?? null, context)),
    hostFunction('float', [1, 1], ([value], context) => toFloat(value ?? null, context)),
    hostFunction('string', [1, 1], ([value], context) => toText(value ?? null, context)),
    hostFunction('bool', [1, 1], ([value], context) => toBool(value ?? null, context)),
    hostFunction('compare', [2, 2], compareValues),
    hostFunction('print', [0, NO_LIMIT], print),
    hostFunction('error', [0, NO_LIMIT], stop),
  ].map((builtin) => [builtin.name, builtin]),
)

function append([list, value]: readonly Value[], context: CallContext): Value {
  if (!(list instanceof ListValue))
    return context.fail(`append needs a list, not ${typeOf(list ?? null)}`)
  context.allocate(1)
  list.items.push(value ?? null)
  return context.undefinedHere
}

function remove([map, key]: readonly Value[], context: CallContext): Value {
  if (map === undefined || !isMap(map))
    return context.fail(`delete needs a map, not ${typeOf(map ?? null)}`)
  const name = keyOf(key ?? null)
  if (name !== undefined) map.delete(name)
  return context.undefinedHere
}

function keys([map]: readonly Value[], context: CallContext): Value {
  if (map instanceof Undefined) return map
  if (map === undefined || !isMap(map))
    return context.fail(`keys needs a map, not ${typeOf(map ?? null)}`)
  context.allocate(map.size)
  return new ListValue(map.keys().map(valueOfKey))
}

function values([map]: readonly Value[], context: CallContext): Value {
  if (map instanceof Undefined) return map
  if (map === undefined || !isMap(map))
    return context.fail(`values needs a map, not ${typeOf(map ?? null)}`)
  context.allocate(map.size)
  return new ListValue(map.keys().map((key) => map.get(key) ?? null))
}

function length([value = null]: readonly Value[], context: CallContext): Value {
  if (value instanceof Undefined) return value
  if (typeof value === 'string') {
    context.charge(Math.ceil(value.length / CHARACTERS_PER_STEP))
    return byteLength(value)
  }
  if (value instanceof ListValue) return value.items.length
  if (isMap(value)) return value.size
  return context.fail(`length needs a list, a map or a string, not ${typeOf(value)}`)
}

function range(args: readonly Value[], context: CallContext): Value {
  const unknown = args.find((arg) => arg instanceof Undefined)
  if (unknown !== undefined) return unknown
  const numbers = args.map((arg) =>
    isInt(arg) ? Number(arg) : context.fail(`range needs ints, not ${typeOf(arg)}`),
  )
  const [start, end] =
    numbers.length === 1 ? [0, numbers[0] ?? 0] : [numbers[0] ?? 0, numbers[1] ?? 0]
  const step = numbers[2] ?? 1
  if (step === 0) return context.fail('the step of range cannot be 0')
  const count = Math.max(0, Math.ceil((end - start) / step))
  context.allocate(count)
  return new ListValue(Array.from({ length: count }, (_, index) => start + index * step))
}

const INT_TEXT = /^([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/
const FLOAT_TEXT = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/

function toInt(value: Value, context: CallContext): Value {
  if (isInt(value)) return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'string') return intOfText(value) ?? context.undefinedHere
  if (!isNumeric(value)) return value instanceof Undefined ? value : context.undefinedHere
  const whole = Math.trunc(toNumber(value))
  return Number.isFinite(whole) ? wrapInt(BigInt(whole)) : context.undefinedHere
}

function intOfText(text: string): Value | undefined {
  const [, sign, digits] = INT_TEXT.exec(text) ?? []
  if (digits === undefined) return undefined
  const isOctal = /^0[0-7]+$/.test(digits)
  const magnitude = BigInt(isOctal ? `0o${digits.slice(1)}` : digits)
  const number = sign === '-' ? -magnitude : magnitude
  return BigInt.asIntN(64, number) === number ? wrapInt(number) : undefined
}

function toFloat(value: Value, context: CallContext): Value {
  if (typeof value === 'boolean') return new Float(value ? 1 : 0)
  if (isNumeric(value)) return floatOf(toNumber(value))
  if (typeof value === 'string' && FLOAT_TEXT.test(value)) return floatOf(Number(value))
  return value instanceof Undefined ? value : context.undefinedHere
}

/** Floats have six fraction digits. */
function toText(value: Value, context: CallContext): Value {
  if (typeof value === 'string' || value instanceof Undefined) return value
  if (typeof value === 'boolean' || isInt(value)) return String(value)
  return isNumeric(value) ? fixedText(toNumber(value)) : context.undefinedHere
}

function fixedText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  // From 1e21 on toFixed returns an exponent; such a number is an integer.
  return Math.abs(value) < 1e21 ? value.toFixed(6) : `${BigInt(value)}.000000`
}

const TRUE_TEXTS: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'True', 'TRUE'])
const FALSE_TEXTS: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'False', 'FALSE'])

function toBool(value: Value, context: CallContext): Value {
  if (typeof value === 'boolean' || value instanceof Undefined) return value
  if (isNumeric(value)) return toNumber(value) !== 0
  if (typeof value === 'string' && TRUE_TEXTS.has(value)) return true
  return typeof value === 'string' && FALSE_TEXTS.has(value) ? false : context.undefinedHere
}

function compareValues([left = null, right = null]: readonly Value[], context: CallContext): Value {
  if (left instanceof Undefined) return left
  if (right instanceof Undefined) return right
  const order = typeOf(left) === typeOf(right) ? compareOrdered(left, right) : undefined
  if (order === undefined)
    return context.fail(
      `compare needs two ints, floats or strings, not ${typeOf(left)} and ${typeOf(right)}`,
    )
  return order
}

function print(args: readonly Value[], context: CallContext): Value {
  const text = printed(args)
  context.charge(1 + Math.ceil(text.length / CHARACTERS_PER_STEP))
  context.print(text)
  return true
}

function stop(args: readonly Value[], context: CallContext): never {
  const text = printed(args)
  context.print(text)
  return context.fail(text)
}

/** Strings unchanged; other values formatted as in reports. */
function printed(args: readonly Value[]): string {
  return args
    .map((arg) => (typeof arg === 'string' ? arg : formatValue(arg, SHOWN_LENGTH_MAX)))
    .join(' ')
}
