import { encodeHex } from '@reeve/kit/bytes.ts'
import { fromBigInt } from '../value/number.ts'
import { type Entry, objectOf } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'

export const UUID_BUILTINS: readonly Builtin[] = [
  define({ name: 'uuid.rfc4122', operands: ['string'], result: 'string' }, (context, name) => {
    const key = `uuid.rfc4122 ${name}`
    const known = context.memory.get(key)
    if (typeof known === 'string') return known
    const made = randomUuid(context)
    context.memory.set(key, made)
    return made
  }),
  // Anything that is no UUID is undefined, which is no failure.
  define({ name: 'uuid.parse', operands: ['string'], result: 'object' }, (_context, text) => {
    const digits = digitsOf(text)
    return digits === undefined ? undefined : objectOf(describe(BigInt(`0x${digits}`)))
  }),
]

function randomUuid(context: CallContext): string {
  const bytes = Uint8Array.from({ length: 16 }, () => Math.floor(context.random() * 256))
  // RFC 9562, section 5.4: version 4 and the variant.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return encodeHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const DASHED = /^([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})$/i

/** With dashes, without, as a URN, or with one character around it, whichever that is. */
function digitsOf(text: string): string | undefined {
  if (/^[0-9a-f]{32}$/i.test(text)) return text
  const inner =
    text.length === 45 && /^urn:uuid:/i.test(text)
      ? text.slice(9)
      : text.length === 38
        ? text.slice(1, -1)
        : text
  return DASHED.exec(inner)?.slice(1).join('')
}

const DOMAINS = ['Person', 'Group', 'Org'] as const

/** RFC 9562, section 5: what the fields hold. Only versions 1 and 2 have a time and a node. */
function describe(uuid: bigint): readonly Entry[] {
  const field = (from: number, bits: number) =>
    (uuid >> BigInt(128 - from - bits)) & ((1n << BigInt(bits)) - 1n)
  const version = Number(field(48, 4))
  const entries: Entry[] = [
    ['version', version],
    ['variant', variantOf(Number(field(64, 3)))],
  ]
  if (version !== 1 && version !== 2) return entries
  const ticks = (field(52, 12) << 48n) | (field(32, 16) << 32n) | field(0, 32)
  const node = field(80, 48)
  entries.push(
    ['time', fromBigInt(unixNs(ticks)) ?? 0],
    [
      'nodeid',
      node
        .toString(16)
        .padStart(12, '0')
        .replace(/..(?=.)/g, '$&-'),
    ],
    ['macvariables', addressKind(Number(node >> 40n))],
    ['clocksequence', Number(field(64, 16)) & 0x3fff],
  )
  if (version === 1) return entries
  const domain = Number(field(72, 8))
  entries.push(['id', Number(field(0, 32))], ['domain', DOMAINS[domain] ?? `Domain${domain}`])
  return entries
}

function variantOf(bits: number): string {
  if ((bits & 0b110) === 0b100) return 'RFC4122'
  if (bits === 0b110) return 'Microsoft'
  return bits === 0b111 ? 'Future' : 'Reserved'
}

/** 100-nanosecond ticks since 15 October 1582, the first day of the calendar. */
const TICKS_TO_1970 = 0x01b21dd213814000n

function unixNs(ticks: bigint): bigint {
  return (ticks - TICKS_TO_1970) * 100n
}

/** RFC 9542, section 2.1: two bits of the first byte. */
function addressKind(first: number): string {
  return `${(first & 2) === 0 ? 'global' : 'local'}:${(first & 1) === 0 ? 'unicast' : 'multicast'}`
}
