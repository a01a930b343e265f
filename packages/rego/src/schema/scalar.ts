import { formatText } from '../value/format.ts'
import { compilePattern, chargeSearch } from '../pattern/pattern.ts'
import { compareNumbers, numberText, toDecimal, type NumberValue } from '../value/number.ts'
import { isNumber, type ObjectValue } from '../value/value.ts'
import { FORMATS } from './format.ts'
import { report, type Place, type Validation } from './validation.ts'

/** A length or a count. */
export function limitAt(schema: ObjectValue, name: string): number | undefined {
  const limit = schema.get(name)
  return typeof limit === 'number' ? limit : undefined
}

export function checkString(
  validation: Validation,
  { schema, value, path }: Omit<Place, 'value'> & { readonly value: string },
): void {
  const length = Array.from(value).length
  const min = limitAt(schema, 'minLength')
  if (min !== undefined && length < min)
    report(validation, path, {
      type: 'string_gte',
      description: `String length must be greater than or equal to ${min}`,
    })
  const max = limitAt(schema, 'maxLength')
  if (max !== undefined && length > max)
    report(validation, path, {
      type: 'string_lte',
      description: `String length must be less than or equal to ${max}`,
    })
  const pattern = schema.get('pattern')
  const compiled = typeof pattern === 'string' ? compilePattern(pattern) : undefined
  if (compiled?.ok === true) {
    chargeSearch(validation.context, compiled.value, value.length)
    if (!compiled.value.regex.matcher(value).find())
      report(validation, path, {
        type: 'pattern',
        description: `Does not match pattern '${formatText(pattern ?? '')}'`,
      })
  }
  const format = schema.get('format')
  if (typeof format === 'string' && FORMATS.get(format)?.(value) === false)
    report(validation, path, { type: 'format', description: `Does not match format '${format}'` })
}

export function checkNumber(
  validation: Validation,
  { schema, value, path }: Omit<Place, 'value'> & { readonly value: NumberValue },
): void {
  const multiple = schema.get('multipleOf')
  if (isNumber(multiple) && !isMultiple(value, multiple))
    report(validation, path, {
      type: 'multiple_of',
      description: `Must be a multiple of ${numberText(multiple)}`,
    })
  for (const { name, strict, type, sign, text } of BOUNDS) {
    const bound = schema.get(name)
    const other = schema.get(strict)
    // In draft 4 the strict bound is a flag beside the bound, later a bound of its own.
    const isStrict = other === true
    if (isNumber(bound)) {
      const order = compareNumbers(value, bound) * sign
      if (order < 0 || (isStrict && order === 0))
        report(validation, path, {
          type: isStrict ? type : `${type}e`,
          description: `Must be ${text} than ${isStrict ? '' : 'or equal to '}${numberText(bound)}`,
        })
    }
    if (isNumber(other) && compareNumbers(value, other) * sign <= 0)
      report(validation, path, { type, description: `Must be ${text} than ${numberText(other)}` })
  }
}

const BOUNDS = [
  { name: 'minimum', strict: 'exclusiveMinimum', type: 'number_gt', sign: 1, text: 'greater' },
  { name: 'maximum', strict: 'exclusiveMaximum', type: 'number_lt', sign: -1, text: 'less' },
] as const

function isMultiple(value: NumberValue, unit: NumberValue): boolean {
  const [a, b] = [toDecimal(value), toDecimal(unit)]
  if (b.digits === 0n) return true
  const exponent = Math.min(a.exponent, b.exponent)
  const scaled = (digits: bigint, own: number) => digits * 10n ** BigInt(own - exponent)
  return scaled(a.digits, a.exponent) % scaled(b.digits, b.exponent) === 0n
}
