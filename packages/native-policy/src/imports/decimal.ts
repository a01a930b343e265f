import { Decimal as BaseDecimal } from 'decimal.js'
import {
  type CallContext,
  floatOf,
  type FunctionValue,
  isInt,
  isMap,
  isNumeric,
  type MapValue,
  toNumber,
  typeOf,
  Undefined,
  type Value,
  wrapInt,
} from '../value/value.ts'
import { createMap } from '../value/map.ts'
import { typed } from './define.ts'

/** A hundred digits. Exponents are bounded, so that output is too. */
const Decimal = BaseDecimal.clone({
  precision: 100,
  toExpNeg: -1000,
  toExpPos: 1000,
  maxE: 100_000,
  minE: -100_000,
})
type Number100 = InstanceType<typeof Decimal>

/** Maximum characters of a formatted number. */
const TEXT_LENGTH_MAX = 1000
/** Steps per operation on a hundred digits; operations that compute a series cost more. */
const OPERATION_COST = 10
const SERIES_COST = 2000

/** The import `decimal`. */
export function decimalImport(): MapValue {
  const both = (names: readonly string[], build: (name: string) => Value) =>
    Object.fromEntries(names.map((name) => [name, build(name)]))
  return createMap({
    new: typed('new', ['any'], ([value], context) => decimalValue(readDecimal(value, context))),
    nan: decimalValue(new Decimal(Number.NaN)),
    ...both(['infinity', 'inf'], (name) =>
      typed(name, ['int'], ([sign]) =>
        decimalValue(new Decimal(Number(sign) < 0 ? '-Infinity' : 'Infinity')),
      ),
    ),
    ...both(['is_infinite', 'is_inf', 'isinf', 'isinfinite'], (name) =>
      typed(name, ['any'], ([value], context) => {
        const number = readDecimal(value, context)
        return !number.isFinite() && !number.isNaN()
      }),
    ),
    ...both(['is_nan', 'isnan'], (name) =>
      typed(name, ['any'], ([value], context) => readDecimal(value, context).isNaN()),
    ),
  })
}

function readDecimal(value: Value, context: CallContext): Number100 {
  context.charge(OPERATION_COST)
  if (isInt(value)) return new Decimal(String(value))
  if (isNumeric(value)) return new Decimal(toNumber(value))
  const text = isMap(value) ? value.get('string') : value
  if (typeof text !== 'string') return context.fail(`a decimal is needed, not ${typeOf(value)}`)
  if (
    text.length > TEXT_LENGTH_MAX ||
    !/^[+-]?(?:[0-9.]+(?:[eE][+-]?[0-9]{1,6})?|Infinity|NaN)$/.test(text)
  )
    return context.fail(`${JSON.stringify(text.slice(0, 50))} is no decimal`)
  try {
    return new Decimal(text)
  } catch {
    return context.fail(`${JSON.stringify(text.slice(0, 50))} is no decimal`)
  }
}

type Unary = (value: Number100) => Number100
type Binary = (left: Number100, right: Number100) => Number100

const UNARY: readonly (readonly [readonly string[], number, Unary])[] = [
  [['exp'], SERIES_COST, (value) => value.exp()],
  [['loge', 'ln'], SERIES_COST, (value) => value.ln()],
  [['log10', 'log'], SERIES_COST, (value) => value.log(10)],
  [['square_root', 'sqrt'], SERIES_COST, (value) => value.sqrt()],
  [['ceiling', 'ceil'], OPERATION_COST, (value) => value.ceil()],
  [['floor'], OPERATION_COST, (value) => value.floor()],
  [['absolute', 'abs'], OPERATION_COST, (value) => value.abs()],
  [['negate', 'neg'], OPERATION_COST, (value) => value.neg()],
]
const BINARY: readonly (readonly [readonly string[], number, Binary])[] = [
  [['add'], OPERATION_COST, (left, right) => left.add(right)],
  [['subtract', 'sub'], OPERATION_COST, (left, right) => left.sub(right)],
  [['multiply', 'mul'], OPERATION_COST, (left, right) => left.mul(right)],
  [['divide', 'div'], OPERATION_COST, (left, right) => left.div(right)],
  [['modulo', 'mod', 'remainder', 'rem'], SERIES_COST, (left, right) => left.mod(right)],
  [['power', 'pow'], SERIES_COST, (left, right) => left.pow(right)],
]
const TESTS: readonly (readonly [
  readonly string[],
  (left: Number100, right: Number100) => boolean,
])[] = [
  [['is'], (left, right) => left.eq(right)],
  [['is_not'], (left, right) => !left.eq(right)],
  [['less_than', 'lt'], (left, right) => left.lt(right)],
  [['less_than_or_equals', 'lte'], (left, right) => left.lte(right)],
  [['greater_than', 'gt'], (left, right) => left.gt(right)],
  [['greater_than_or_equals', 'gte'], (left, right) => left.gte(right)],
]

function decimalValue(number: Number100): MapValue {
  return createMap({ ...fieldsOf(number), ...Object.fromEntries(methodsOf(number)) })
}

function fieldsOf(number: Number100): Readonly<Record<string, Value>> {
  const isFinite = number.isFinite()
  const exponent = isFinite ? -number.decimalPlaces() : 0
  const coefficient = isFinite ? number.abs().mul(Decimal.pow(10, -exponent)) : new Decimal(0)
  return {
    string: number.toString(),
    sign: number.isNaN()
      ? 0
      : number.isNegative() && !number.isZero()
        ? -1
        : number.isZero()
          ? 0
          : 1,
    coefficient: coefficient.toFixed(0),
    exponent,
    float: floatOf(number.toNumber()),
    int: wholePart(number),
  }
}

/** The number without its fraction; undefined beyond 64 bits, where it would wrap. */
function wholePart(number: Number100): Value {
  const whole = number.trunc()
  const isInt64 = whole.gte(INT64_MIN) && whole.lte(INT64_MAX)
  return isInt64 ? wrapInt(BigInt(whole.toFixed(0))) : new Undefined(undefined)
}

const INT64_MIN = '-9223372036854775808'
const INT64_MAX = '9223372036854775807'

function methodsOf(number: Number100): readonly (readonly [string, FunctionValue])[] {
  const unary = UNARY.flatMap(([names, cost, operate]) =>
    names.map((name) => {
      const method = typed(name, [], (_args, context) => {
        context.charge(cost)
        return decimalValue(operate(number))
      })
      return [name, method] as const
    }),
  )
  const binary = BINARY.flatMap(([names, cost, operate]) =>
    names.map((name) => {
      const method = typed(name, ['any'], ([other], context) => {
        context.charge(cost)
        return decimalValue(operate(number, readDecimal(other, context)))
      })
      return [name, method] as const
    }),
  )
  const tests = TESTS.flatMap(([names, test]) =>
    names.map((name) => {
      const method = typed(name, ['any'], ([other], context) =>
        test(number, readDecimal(other, context)),
      )
      return [name, method] as const
    }),
  )
  return [...unary, ...binary, ...tests]
}
