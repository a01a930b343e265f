import type { DeviceAttribute } from '@reeve/contract'

/** A value of a device or of a constraint. */
export type DeviceAttributeValue =
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
export function deviceValueOf(attribute: DeviceAttribute): DeviceAttributeValue | undefined {
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
export function parseDeviceValue(text: string): DeviceAttributeValue {
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
export function compareDeviceValues(
  a: DeviceAttributeValue,
  b: DeviceAttributeValue,
): number | undefined {
  if (a.kind === 'number' && b.kind === 'number')
    return a.quantity === b.quantity ? Math.sign(a.amount - b.amount) : undefined
  if (a.kind === 'text' && b.kind === 'text') return a.text < b.text ? -1 : a.text > b.text ? 1 : 0
  if (a.kind === 'flag' && b.kind === 'flag') return Number(a.flag) - Number(b.flag)
  return undefined
}
