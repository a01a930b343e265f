import { parseTime } from '@reeve/go-template/time'
import { parseUrl } from '@reeve/go-template/url'
import { parseAddress } from '@reeve/kit/ip-address.ts'
import { formatText } from '../value/format.ts'
import { compilePattern, chargeSearch } from '../regex/pattern.ts'
import { compareNumbers, numberText, toDecimal, type NumberValue } from '../value/number.ts'
import { isArray, isNumber, ObjectValue, setOf, type Value } from '../value/value.ts'
import { report, type ObjectSchemaTarget, type Validation, isValid } from './validation.ts'

/** A length or a count. */
function limitAt(schema: ObjectValue, name: string): number | undefined {
  const limit = schema.get(name)
  return typeof limit === 'number' ? limit : undefined
}

export function checkString(
  validation: Validation,
  { schema, value, path }: Omit<ObjectSchemaTarget, 'value'> & { readonly value: string },
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
  { schema, value, path }: Omit<ObjectSchemaTarget, 'value'> & { readonly value: NumberValue },
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

const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const HOST = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`)

/** Formats that are checked; a name that is not here says nothing. */
const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', (text: string) => parseTime('2006-01-02', text) !== undefined],
  ['time', (text: string) => parseTime('15:04:05Z07:00', text) !== undefined],
  ['date-time', (text: string) => parseTime('2006-01-02T15:04:05Z07:00', text) !== undefined],
  ['email', (text: string) => text.length < 320 && /^[^\s@]+@[^\s@]+$/.test(text)],
  ['hostname', (text: string) => text.length < 254 && HOST.test(text)],
  ['ipv4', (text: string) => parseAddress(text)?.bits === 32],
  ['ipv6', (text: string) => parseAddress(text)?.bits === 128],
  ['uri', (text: string) => isUri(text)],
  ['uri-reference', (text: string) => parseUrl(text).ok],
  ['uuid', (text: string) => /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text)],
  ['regex', (text: string) => compilePattern(text).ok],
])

function isUri(text: string): boolean {
  const url = parseUrl(text)
  return url.ok && url.value.scheme !== ''
}

type ArrayTarget = Omit<ObjectSchemaTarget, 'value'> & { readonly value: readonly Value[] }

export function checkArray(validation: Validation, target: ArrayTarget): void {
  const { schema, value, path } = target
  const min = limitAt(schema, 'minItems')
  if (min !== undefined && value.length < min)
    report(validation, path, {
      type: 'array_min_items',
      description: `Array must have at least ${min} items`,
    })
  const max = limitAt(schema, 'maxItems')
  if (max !== undefined && value.length > max)
    report(validation, path, {
      type: 'array_max_items',
      description: `Array must have at most ${max} items`,
    })
  validation.context.charge(value.length)
  if (schema.get('uniqueItems') === true && setOf(value).size < value.length)
    report(validation, path, { type: 'unique', description: 'array items must be unique' })
  const contains = schema.get('contains')
  if (
    contains !== undefined &&
    !value.some((item, at) =>
      isValid(validation, contains, { value: item, path: [...path, String(at)] }),
    )
  )
    report(validation, path, {
      type: 'contains',
      description: 'At least one of the items must match',
    })
  checkItems(validation, target)
}

/** One schema for all items, or one for each of the first and another for the rest. */
function checkItems(validation: Validation, { schema, value, path }: ArrayTarget): void {
  const items = schema.get('items')
  if (items === undefined) return
  const rest = isArray(items) ? schema.get('additionalItems') : items
  for (const [at, item] of value.entries()) {
    const own = isArray(items) ? items[at] : items
    if (own === undefined && rest === false)
      return report(validation, path, {
        type: 'array_no_additional_items',
        description: 'No additional items allowed on array',
      })
    const wanted = own ?? rest
    if (wanted !== undefined)
      validation.check(validation, { schema: wanted, value: item, path: [...path, String(at)] })
  }
}

type ObjectTarget = Omit<ObjectSchemaTarget, 'value'> & { readonly value: ObjectValue }

export function checkObject(validation: Validation, target: ObjectTarget): void {
  const { schema, value, path } = target
  const required = schema.get('required')
  for (const name of isArray(required) ? required : [])
    if (!value.has(name))
      report(validation, path, { type: 'required', description: `${formatText(name)} is required` })
  const min = limitAt(schema, 'minProperties')
  if (min !== undefined && value.size < min)
    report(validation, path, {
      type: 'array_min_properties',
      description: `Must have at least ${min} properties`,
    })
  const max = limitAt(schema, 'maxProperties')
  if (max !== undefined && value.size > max)
    report(validation, path, {
      type: 'array_max_properties',
      description: `Must have at most ${max} properties`,
    })
  checkDependencies(validation, target)
  for (const [name, item] of value.entries())
    checkProperty(validation, target, [formatText(name), item])
}

function checkDependencies(validation: Validation, { schema, value, path }: ObjectTarget): void {
  const dependencies = schema.get('dependencies')
  if (!(dependencies instanceof ObjectValue)) return
  for (const [name, wanted] of dependencies.entries()) {
    if (!value.has(name)) continue
    if (!isArray(wanted)) {
      validation.check(validation, { schema: wanted, value, path })
      continue
    }
    for (const other of wanted)
      if (!value.has(other))
        report(validation, path, {
          type: 'missing_dependency',
          description: `Has a dependency on ${formatText(other)}`,
        })
  }
}

function checkProperty(
  validation: Validation,
  { schema, path }: ObjectTarget,
  [name, value]: readonly [string, Value],
): void {
  const names = schema.get('propertyNames')
  if (names !== undefined && !isValid(validation, names, { value: name, path }))
    report(validation, path, {
      type: 'invalid_property_name',
      description: `Property name of "${name}" does not match`,
    })
  const inner = [...path, name]
  const own = objectAt(schema, 'properties')?.get(name)
  if (own !== undefined) validation.check(validation, { schema: own, value, path: inner })
  let isMatched = own !== undefined
  for (const [pattern, wanted] of objectAt(schema, 'patternProperties')?.entries() ?? []) {
    const compiled = compilePattern(formatText(pattern))
    if (!compiled.ok) continue
    chargeSearch(validation.context, compiled.value, name.length)
    if (!compiled.value.regex.matcher(name).find()) continue
    isMatched = true
    validation.check(validation, { schema: wanted, value, path: inner })
  }
  const additional = schema.get('additionalProperties')
  if (isMatched || additional === undefined) return
  if (additional === false)
    report(validation, path, {
      type: 'additional_property_not_allowed',
      description: `Additional property ${name} is not allowed`,
    })
  else validation.check(validation, { schema: additional, value, path: inner })
}

function objectAt(schema: ObjectValue, name: string): ObjectValue | undefined {
  const value = schema.get(name)
  return value instanceof ObjectValue ? value : undefined
}
