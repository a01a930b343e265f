import type { Affinity, Constraint, NodeDevice } from '@reeve/contract'
import { operandTest } from '../constraint/operand.ts'
import { compareDeviceValues, fromAttribute, fromText, type DeviceValue } from './device-value.ts'

/** Tests whether a device satisfies one rule of a request. */
export type DeviceTest = (device: NodeDevice) => boolean

/** Returns the test for a `type`, `vendor/type` or `vendor/type/model`. */
export function deviceNameTest(name: string): DeviceTest {
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
export function deviceTest(rule: Constraint | Affinity): DeviceTest {
  const left = sideReader(rule.LTarget)
  const right = sideReader(rule.RTarget)
  const compared = Object.hasOwn(ORDERS, rule.Operand) ? ORDERS[rule.Operand] : undefined
  if (compared !== undefined) return (device) => compared(left(device), right(device))
  const meets = operandTest(rule.Operand)
  return (device) => meets(left(device)?.text, right(device)?.text)
}

/** A side of a rule: its value, and its text for operands on text. */
interface Side {
  readonly value: DeviceValue
  readonly text: string
  /**
   * True if the value is written in the rule rather than read from the device: it is compared as
   * text or number, like the other side.
   */
  readonly isLiteral: boolean
}

type Comparison = (left: Side | undefined, right: Side | undefined) => boolean

/** Operands that compare values rather than texts; all others are shared with nodes. */
const ORDERS: Readonly<Record<string, Comparison>> = {
  '=': ordered((sign) => sign === 0),
  '==': ordered((sign) => sign === 0),
  is: ordered((sign) => sign === 0),
  '!=': differs,
  not: differs,
  '<': ordered((sign) => sign < 0),
  '<=': ordered((sign) => sign <= 0),
  '>': ordered((sign) => sign > 0),
  '>=': ordered((sign) => sign >= 0),
}

function ordered(accepts: (sign: number) => boolean): Comparison {
  return (left, right) => {
    const sign = left === undefined || right === undefined ? undefined : compareSides(left, right)
    return sign !== undefined && accepts(sign)
  }
}

/** As for nodes, an absent value differs from any present one. */
function differs(left: Side | undefined, right: Side | undefined): boolean {
  if (left === undefined || right === undefined) return left !== right
  const sign = compareSides(left, right)
  return sign !== undefined && sign !== 0
}

/**
 * Compares two sides. A model named `1080` is text, so the literal of a rule is then compared as
 * text too.
 */
function compareSides(left: Side, right: Side): number | undefined {
  const asText = (side: Side, other: Side): DeviceValue =>
    side.isLiteral && other.value.kind === 'text' ? { kind: 'text', text: side.text } : side.value
  return compareDeviceValues(asText(left, right), asText(right, left))
}

function sideReader(target: string): (device: NodeDevice) => Side | undefined {
  if (!target.startsWith('${')) {
    const literal = { value: fromText(target), text: target, isLiteral: true }
    return () => literal
  }
  const name = target.endsWith('}') ? target.slice(2, -1).trim() : ''
  const attribute = name.startsWith(ATTRIBUTE) ? name.slice(ATTRIBUTE.length) : ''
  if (attribute !== '') return (device) => attributeSide(device, attribute)
  const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined
  return (device) => (field === undefined ? undefined : textSide(field(device)))
}

const ATTRIBUTE = 'device.attr.'

const FIELDS: Readonly<Record<string, (device: NodeDevice) => string>> = {
  'device.vendor': (device) => device.Vendor,
  'device.type': (device) => device.Type,
  'device.model': (device) => device.Name,
  'device.ids': (device) => device.Instances.map((instance) => instance.ID).join(','),
}

function attributeSide({ Attributes: all }: NodeDevice, name: string): Side | undefined {
  const found = all !== null && Object.hasOwn(all, name) ? all[name] : undefined
  const value = found === undefined ? undefined : fromAttribute(found)
  if (found === undefined || value === undefined) return undefined
  const text = found.String ?? found.Int ?? found.Float ?? found.Bool
  return { value, text: String(text), isLiteral: false }
}

function textSide(text: string): Side {
  return { value: { kind: 'text', text }, text, isLiteral: false }
}
