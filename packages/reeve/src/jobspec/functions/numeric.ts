import { ok } from '@reeve/kit/result.ts'
import {
  calculate,
  compare,
  fromBigInt,
  fromFloat,
  fromRational,
  quoteText,
  toRational,
  type FunctionDefinition,
  type NumberValue,
  type Rational,
} from '@reeve/hcl'
import { float, number, numbers, text, integer } from './argument.ts'
import { define, defineVariadic, fail, failArgument, type FunctionResult } from './define.ts'
import { RANGE_VALUES_MAX } from './limits.ts'

export const numericFunctions: Readonly<Record<string, FunctionDefinition>> = {
  abs: define([number('num')], ([num]) => toFunctionResult(num < 0 ? fromBigIntOrFloat(num) : num)),
  ceil: define([number('num')], ([num]) => toFunctionResult(round(num, Math.ceil))),
  floor: define([number('num')], ([num]) => toFunctionResult(round(num, Math.floor))),
  log: define([float('num'), float('base')], ([num, base]) => {
    if (num <= 0) return failArgument(0, 'num must be above zero')
    if (base <= 0 || base === 1) return failArgument(1, 'base must be above zero and not 1')
    return toFunctionResult(fromFloat(Math.log(num) / Math.log(base)))
  }),
  max: defineVariadic({ parameters: [], rest: number('numbers'), countMin: 1 }, (_, all) =>
    ok(all.reduce((best, one) => (one > best ? one : best))),
  ),
  min: defineVariadic({ parameters: [], rest: number('numbers'), countMin: 1 }, (_, all) =>
    ok(all.reduce((best, one) => (one < best ? one : best))),
  ),
  parseint: define([text('number'), integer('base', { min: 2, max: 62 })], ([digits, base]) =>
    parseInteger(digits, base),
  ),
  pow: define([number('num'), number('power')], ([num, power]) => raiseToPower(num, power)),
  range: defineVariadic(
    { parameters: [], rest: number('params'), countMin: 1, countMax: 3 },
    (_, params) => makeRange(params),
  ),
  signum: define([number('num')], ([num]) => ok(num > 0 ? 1 : num < 0 ? -1 : 0)),
  sum: define([numbers('list')], ([list]) =>
    list.length === 0
      ? failArgument(0, 'list must have at least one number')
      : toFunctionResult(add(list)),
  ),
}

/** Undefined means out of range. */
function toFunctionResult(value: NumberValue | undefined): FunctionResult {
  return value === undefined ? fail('the result is not a finite number in range') : ok(value)
}

function fromBigIntOrFloat(negative: NumberValue): NumberValue | undefined {
  return typeof negative === 'bigint' ? fromBigInt(-negative) : fromFloat(-negative)
}

function round(num: NumberValue, roundNumber: (value: number) => number): NumberValue | undefined {
  return typeof num === 'bigint' ? num : fromFloat(roundNumber(num))
}

function add(list: readonly NumberValue[]): NumberValue | undefined {
  let total: Rational | undefined = toRational(0)
  for (const one of list) {
    total = calculate('+', total, toRational(one))
    if (total === undefined) return undefined
  }
  return fromRational(total)
}

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** Longer than the largest number in base 2 with its sign, so valid input is never rejected. */
const INTEGER_CHARACTERS_MAX = 1_100

/** Up to base 36 digits are case-insensitive; above, upper-case letters follow lower-case ones. */
function parseInteger(digits: string, base: number): FunctionResult {
  const [, sign = '', body = ''] = /^([+-]?)([0-9a-zA-Z]+)$/.exec(digits) ?? []
  const invalid = () =>
    failArgument(0, `${quoteText(digits)} is not a whole number in base ${base}`)
  if (body === '') return invalid()
  if (body.length > INTEGER_CHARACTERS_MAX) return toFunctionResult(undefined)
  let value = 0n
  for (const one of base <= 36 ? body.toLowerCase() : body) {
    const digit = DIGITS.indexOf(one)
    if (digit >= base) return invalid()
    value = value * BigInt(base) + BigInt(digit)
  }
  return toFunctionResult(fromBigInt(sign === '-' ? -value : value))
}

/** Integers stay exact: a double would lose digits from 3^34 on. */
function raiseToPower(num: NumberValue, power: NumberValue): FunctionResult {
  if (isInteger(num) && isInteger(power) && power >= 0) {
    const base = BigInt(num)
    // The result has at least this many bits; a larger one is out of range.
    const bitsMin = (base.toString(2).length - (base < 0n ? 2 : 1)) * Number(power)
    if (bitsMin <= 1_024 && power <= 1_024)
      return toFunctionResult(fromBigInt(base ** BigInt(power)))
  }
  return toFunctionResult(fromFloat(Number(num) ** Number(power)))
}

function isInteger(num: NumberValue): boolean {
  return typeof num === 'bigint' || Number.isInteger(num)
}

/**
 * From the start to before the end. Steps are added as exact fractions: `range(0, 1, 0.1)` has ten
 * values without rounding errors.
 */
function makeRange(params: readonly NumberValue[]): FunctionResult {
  const [first = 0, second, third] = params
  const [start, end] = second === undefined ? [0, first] : [first, second]
  const step = third ?? (end < start ? -1 : 1)
  if (step === 0) return failArgument(2, 'step must not be zero')
  const isDown = step < 0
  if (isDown ? end > start : end < start) {
    const wanted = isDown
      ? 'less than start when step is negative'
      : 'greater than start when step is positive'
    return failArgument(1, `end must be ${wanted}`)
  }
  const [limit, stride] = [toRational(end), toRational(step)]
  const values: NumberValue[] = []
  for (let at: Rational | undefined = toRational(start); at !== undefined;) {
    const order = compare(at, limit)
    if (isDown ? order <= 0 : order >= 0) return ok(values)
    if (values.length >= RANGE_VALUES_MAX)
      return fail(
        `it would have more than ${RANGE_VALUES_MAX} values; use a larger step or a closer end`,
      )
    const value = fromRational(at)
    if (value === undefined) return toFunctionResult(undefined)
    values.push(value)
    at = calculate('+', at, stride)
  }
  return toFunctionResult(undefined)
}
