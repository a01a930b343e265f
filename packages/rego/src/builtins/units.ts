import {
  parseNumber,
  toDecimal,
  fromDecimal,
  fromBigInt,
  type NumberValue,
} from '../value/number.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString } from './operands.ts'

const LETTERS = ['k', 'm', 'g', 't', 'p', 'e'] as const

/** Factors by unit: `k` is 1000, `ki` is 1024. */
const FACTORS: ReadonlyMap<string, bigint> = new Map([
  ['', 1n],
  ...LETTERS.flatMap((letter, at): [string, bigint][] => [
    [letter, 1000n ** BigInt(at + 1)],
    [`${letter}i`, 1024n ** BigInt(at + 1)],
  ]),
])

export const UNIT_BUILTINS: readonly Builtin[] = [
  define({ name: 'units.parse', operands: ['string'], result: 'number' }, (context, raw) => {
    const text = raw.replaceAll('"', '')
    const amount = splitAmount(context, text, 'amount')
    if (amount === undefined) return undefined
    const { unit } = amount
    // Units are case-insensitive except `m`, which is 1/1000, and `M`, which is 1,000,000.
    const isMilli = unit === 'm'
    const factor = isMilli ? 1n : FACTORS.get(unit.toLowerCase())
    if (factor === undefined) return context.fail(`unit ${unit} not recognized`)
    const { digits, exponent } = toDecimal(amount.number)
    return (
      roundTo(digits * factor, isMilli ? exponent - 3 : exponent) ??
      context.fail('the number has too many digits')
    )
  }),
  define({ name: 'units.parse_bytes', operands: ['string'], result: 'number' }, (context, raw) => {
    const text = raw.replaceAll('"', '').toLowerCase()
    const amount = splitAmount(context, text, 'byte amount')
    if (amount === undefined) return undefined
    const { unit } = amount
    const isSize = unit.length > 1 && unit.endsWith('b')
    const factor = FACTORS.get(isSize ? unit.slice(0, -1) : unit)
    if (factor === undefined) return context.fail(`byte unit ${unit} not recognized`)
    const { digits, exponent } = toDecimal(amount.number)
    const bytes =
      exponent >= 0
        ? digits * factor * 10n ** BigInt(exponent)
        : (digits * factor) / 10n ** BigInt(-exponent)
    return fromBigInt(bytes) ?? context.fail('the number has too many digits')
  }),
]

interface Amount {
  readonly number: NumberValue
  readonly unit: string
}

/** Digits, points, signs, and an `e` that begins an exponent. */
const AMOUNT = /^((?:[0-9.+-]|[eE](?=[0-9+-]))*)(.*)$/su
const EXPONENT_DIGITS_MAX = 6

function splitAmount(context: CallContext, text: string, what: string): Amount | undefined {
  chargeForString(context, text.length)
  if (text.includes(' ')) return context.fail('spaces not allowed in resource strings')
  const [, digits = '', unit = ''] = AMOUNT.exec(text) ?? []
  const exponent = /[eE][+-]?([0-9]*)/.exec(digits)?.[1] ?? ''
  if (exponent.length > EXPONENT_DIGITS_MAX) return context.fail('exponent too large')
  if (digits === '') return context.fail(`no ${what} provided`)
  const number = parseNumber(digits)
  return number === undefined
    ? context.fail(`could not parse ${what} to a number`)
    : { number, unit }
}

const DIGITS_BEHIND_POINT = 10

/** Ten digits behind the point, the last one rounded. */
function roundTo(digits: bigint, exponent: number): NumberValue | undefined {
  const surplus = -exponent - DIGITS_BEHIND_POINT
  if (surplus <= 0) return fromDecimal(digits, exponent)
  const unit = 10n ** BigInt(surplus)
  const half = digits < 0n ? -unit / 2n : unit / 2n
  return fromDecimal((digits + half) / unit, -DIGITS_BEHIND_POINT)
}
