import type { Affinity, Constraint, NodeDevice } from '@reeve/contract'
import { operandTest } from '../constraint/operand.ts'
import {
  compareDeviceValues,
  deviceValueOf,
  parseDeviceValue,
  type DeviceAttributeValue,
} from './device-value.ts'

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
