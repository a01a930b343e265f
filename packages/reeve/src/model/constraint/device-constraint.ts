import type { Affinity, Constraint, DeviceAttribute, NodeDevice } from '@reeve/contract'
import { operandTest } from './constraint.ts'

/** Tests whether a device satisfies one rule of a request. */
export type DeviceMatcher = (device: NodeDevice) => boolean

/** Returns the test for a `type`, `vendor/type` or `vendor/type/model`. */
export function deviceNameMatcher(name: string): DeviceMatcher {
  const parts = name.split('/')
  if (parts.length === 1) return (device) => device.Type === name
  const [vendor, type, ...model] = parts
  if (model.length === 0) return (device) => device.Vendor === vendor && device.Type === type
  // A model may contain slashes.
  const wanted = model.join('/')
  return (device) => device.Vendor === vendor && device.Type === type && device.Name === wanted
}

/**
 * Returns the test for a constraint or affinity of a device. Numbers are compared across units;
 * values that are not comparable satisfy nothing.
 */
export function deviceConstraintMatcher(rule: Constraint | Affinity): DeviceMatcher {
  const left = operandReader(rule.LTarget)
  const right = operandReader(rule.RTarget)
  const compare = Object.hasOwn(VALUE_COMPARISONS, rule.Operand)
    ? VALUE_COMPARISONS[rule.Operand]
    : undefined
  if (compare !== undefined) return (device) => compare(left(device), right(device))
  const meets = operandTest(rule.Operand)
  return (device) => meets(left(device)?.text, right(device)?.text)
}

/** A side of a rule: its value, and its text for operands on text. */
interface Operand {
  readonly value: DeviceAttributeValue
  readonly text: string
  /**
   * True if the value is written in the rule rather than read from the device: it is compared as
   * text or number, like the other side.
   */
  readonly isLiteral: boolean
}

type Comparison = (left: Operand | undefined, right: Operand | undefined) => boolean

/** Operands that compare values rather than texts; all others are shared with nodes. */
const VALUE_COMPARISONS: Readonly<Record<string, Comparison>> = {
  '=': orderComparison((sign) => sign === 0),
  '==': orderComparison((sign) => sign === 0),
  is: orderComparison((sign) => sign === 0),
  '!=': isDifferent,
  not: isDifferent,
  '<': orderComparison((sign) => sign < 0),
  '<=': orderComparison((sign) => sign <= 0),
  '>': orderComparison((sign) => sign > 0),
  '>=': orderComparison((sign) => sign >= 0),
}

function orderComparison(accepts: (sign: number) => boolean): Comparison {
  return (left, right) => {
    const sign =
      left === undefined || right === undefined ? undefined : compareOperands(left, right)
    return sign !== undefined && accepts(sign)
  }
}

/** As for nodes, an absent value differs from any present one. */
function isDifferent(left: Operand | undefined, right: Operand | undefined): boolean {
  if (left === undefined || right === undefined) return left !== right
  const sign = compareOperands(left, right)
  return sign !== undefined && sign !== 0
}

/**
 * Compares two sides. A model named `1080` is text, so the literal of a rule is then compared as
 * text too.
 */
function compareOperands(left: Operand, right: Operand): number | undefined {
  const asText = (side: Operand, other: Operand): DeviceAttributeValue =>
    side.isLiteral && other.value.kind === 'text' ? { kind: 'text', text: side.text } : side.value
  return compareDeviceValues(asText(left, right), asText(right, left))
}

function operandReader(target: string): (device: NodeDevice) => Operand | undefined {
  if (!target.startsWith('${')) {
    const literal = { value: parseDeviceValue(target), text: target, isLiteral: true }
    return () => literal
  }
  const name = target.endsWith('}') ? target.slice(2, -1).trim() : ''
  const attribute = name.startsWith(ATTRIBUTE_PREFIX) ? name.slice(ATTRIBUTE_PREFIX.length) : ''
  if (attribute !== '') return (device) => attributeOperand(device, attribute)
  const field = Object.hasOwn(DEVICE_FIELDS, name) ? DEVICE_FIELDS[name] : undefined
  return (device) => (field === undefined ? undefined : textOperand(field(device)))
}

const ATTRIBUTE_PREFIX = 'device.attr.'

const DEVICE_FIELDS: Readonly<Record<string, (device: NodeDevice) => string>> = {
  'device.vendor': (device) => device.Vendor,
  'device.type': (device) => device.Type,
  'device.model': (device) => device.Name,
  'device.ids': (device) => device.Instances.map((instance) => instance.ID).join(','),
}

function attributeOperand({ Attributes: all }: NodeDevice, name: string): Operand | undefined {
  const attribute = all !== null && Object.hasOwn(all, name) ? all[name] : undefined
  const value = attribute === undefined ? undefined : deviceValueOf(attribute)
  if (attribute === undefined || value === undefined) return undefined
  const text = attribute.String ?? attribute.Int ?? attribute.Float ?? attribute.Bool
  return { value, text: String(text), isLiteral: false }
}

function textOperand(text: string): Operand {
  return { value: { kind: 'text', text }, text, isLiteral: false }
}

/** A value of a device or of a constraint. */
type DeviceAttributeValue =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'flag'; readonly flag: boolean }
  /**
   * `amount` is in the base unit of its quantity, so that values with different units are
   * comparable.
   */
  | { readonly kind: 'number'; readonly amount: number; readonly quantity: string }

interface Unit {
  readonly quantity: string
  readonly factor: number
}

const UNITS: ReadonlyMap<string, Unit> = new Map([
  ...byteUnits('', 'bytes'),
  ...byteUnits('/s', 'bytes per second'),
  ['Hz', { quantity: 'hertz', factor: 1 }],
  ['kHz', { quantity: 'hertz', factor: 1e3 }],
  ['MHz', { quantity: 'hertz', factor: 1e6 }],
  ['GHz', { quantity: 'hertz', factor: 1e9 }],
  ['mW', { quantity: 'watts', factor: 1e-3 }],
  ['W', { quantity: 'watts', factor: 1 }],
  ['kW', { quantity: 'watts', factor: 1e3 }],
  ['MW', { quantity: 'watts', factor: 1e6 }],
  ['GW', { quantity: 'watts', factor: 1e9 }],
])

function byteUnits(suffix: string, quantity: string): readonly (readonly [string, Unit])[] {
  const decimal = ['kB', 'MB', 'GB', 'TB', 'PB', 'EB']
  const binary = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']
  const entry = (name: string, factor: number) => [name + suffix, { quantity, factor }] as const
  return [
    entry('B', 1),
    entry('KB', 1e3),
    ...decimal.map((name, i) => entry(name, 1_000 ** (i + 1))),
    ...binary.map((name, i) => entry(name, 1_024 ** (i + 1))),
  ]
}

/** Converts a reported attribute; undefined if it has no known type. */
function deviceValueOf(attribute: DeviceAttribute): DeviceAttributeValue | undefined {
  const { String: text, Int: whole, Float: fraction, Bool: flag, Unit: unit } = attribute
  if (text !== null) return { kind: 'text', text }
  if (flag !== null) return { kind: 'flag', flag }
  const amount = whole ?? fraction
  return amount === null ? undefined : toQuantity(amount, unit)
}

/**
 * Parses the literal of a constraint: `8 GiB`, `1.5`, `true`, or any other text. A number with an
 * unknown unit is text, which is equal to itself and not comparable otherwise.
 */
function parseDeviceValue(text: string): DeviceAttributeValue {
  const trimmed = text.trim()
  if (trimmed === 'true' || trimmed === 'false') return { kind: 'flag', flag: trimmed === 'true' }
  const [, digits, unit = ''] =
    /^([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?)\s{0,8}([A-Za-z/]{0,8})$/.exec(
      trimmed,
    ) ?? []
  const number = digits === undefined ? undefined : toQuantity(Number(digits), unit)
  return number ?? { kind: 'text', text }
}

function toQuantity(amount: number, name: string): DeviceAttributeValue | undefined {
  if (name === '') return { kind: 'number', amount, quantity: '' }
  const unit = UNITS.get(name)
  return unit && { kind: 'number', amount: amount * unit.factor, quantity: unit.quantity }
}

/** Returns a negative, zero or positive number; undefined if the values are not comparable. */
function compareDeviceValues(a: DeviceAttributeValue, b: DeviceAttributeValue): number | undefined {
  if (a.kind === 'number' && b.kind === 'number')
    return a.quantity === b.quantity ? Math.sign(a.amount - b.amount) : undefined
  if (a.kind === 'text' && b.kind === 'text') return a.text < b.text ? -1 : a.text > b.text ? 1 : 0
  if (a.kind === 'flag' && b.kind === 'flag') return Number(a.flag) - Number(b.flag)
  return undefined
}
