import type { DeviceAttribute } from '@reeve/contract'

/** A value that a device has, or that a constraint asks for. */
export type DeviceValue =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'flag'; readonly flag: boolean }
  /** `amount` is in the base unit of its quantity, so that values of different units compare. */
  | { readonly kind: 'number'; readonly amount: number; readonly quantity: string }

interface Unit {
  readonly quantity: string
  readonly factor: number
}

const UNITS: ReadonlyMap<string, Unit> = new Map([
  ...bytes('', 'bytes'),
  ...bytes('/s', 'bytes per second'),
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

function bytes(suffix: string, quantity: string): readonly (readonly [string, Unit])[] {
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

/** What an agent reports; undefined when it is none of the kinds. */
export function fromAttribute(attribute: DeviceAttribute): DeviceValue | undefined {
  const { String: text, Int: whole, Float: fraction, Bool: flag, Unit: unit } = attribute
  if (text !== null) return { kind: 'text', text }
  if (flag !== null) return { kind: 'flag', flag }
  const amount = whole ?? fraction
  return amount === null ? undefined : numberOf(amount, unit)
}

/**
 * What a constraint writes down: `8 GiB`, `1.5`, `true`, or any other text. A number with a unit
 * that nobody knows is text, so it equals itself and compares with nothing else.
 */
export function fromText(text: string): DeviceValue {
  const trimmed = text.trim()
  if (trimmed === 'true' || trimmed === 'false') return { kind: 'flag', flag: trimmed === 'true' }
  const [, digits, unit = ''] =
    /^([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?)\s{0,8}([A-Za-z/]{0,8})$/.exec(
      trimmed,
    ) ?? []
  const number = digits === undefined ? undefined : numberOf(Number(digits), unit)
  return number ?? { kind: 'text', text }
}

function numberOf(amount: number, name: string): DeviceValue | undefined {
  if (name === '') return { kind: 'number', amount, quantity: '' }
  const unit = UNITS.get(name)
  return unit && { kind: 'number', amount: amount * unit.factor, quantity: unit.quantity }
}

/** Below, at or above zero; undefined when the two say nothing about each other. */
export function compareDeviceValues(a: DeviceValue, b: DeviceValue): number | undefined {
  if (a.kind === 'number' && b.kind === 'number')
    return a.quantity === b.quantity ? Math.sign(a.amount - b.amount) : undefined
  if (a.kind === 'text' && b.kind === 'text') return a.text < b.text ? -1 : a.text > b.text ? 1 : 0
  if (a.kind === 'flag' && b.kind === 'flag') return Number(a.flag) - Number(b.flag)
  return undefined
}
