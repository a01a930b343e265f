import { err, ok, type Result } from './result.ts'

/** An IP network: its first address and the length of its prefix. */
export interface Cidr {
  readonly address: bigint
  /** Address length: 32 for IPv4, 128 for IPv6. */
  readonly bits: 32 | 128
  readonly length: number
}

const EXPECTED = 'must be a network like "10.1.0.0/16" or "fd00:1::/64"'

/** Parses CIDR notation. Host bits are cleared. */
export function parseCidr(text: string): Result<Cidr, string> {
  const [addressText = '', lengthText = '', more] = text.split('/')
  const found = parseAddress(addressText)
  if (found === undefined || more !== undefined || !/^[0-9]{1,3}$/.test(lengthText))
    return err(EXPECTED)
  const { bits, address } = found
  const length = Number(lengthText)
  if (length > bits) return err(`${EXPECTED}; its length may be at most ${bits}`)
  const hostBits = BigInt(bits - length)
  return ok({ address: (address >> hostBits) << hostBits, bits, length })
}

/** Parses an IPv4 or IPv6 address; undefined if invalid. */
export function parseAddress(
  text: string,
): { readonly address: bigint; readonly bits: 32 | 128 } | undefined {
  if (text.length > 64) return undefined
  const isV6 = text.includes(':')
  const address = isV6 ? parseV6(text) : parseV4(text)
  return address === undefined ? undefined : { address, bits: isV6 ? 128 : 32 }
}

/** Leading zeros are decimal: `010` is 10. */
function parseV4(text: string): bigint | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^[0-9]+$/.test(part) && Number(part) < 256))
    return undefined
  return parts.reduce((sum, part) => sum * 256n + BigInt(Number(part)), 0n)
}

/** `::` fills up with zeros; the last two groups may be an IPv4 address. */
function parseV6(text: string): bigint | undefined {
  const plain = expandEmbeddedV4(text)
  const halves = plain?.split('::') ?? []
  if (halves.length < 1 || halves.length > 2) return undefined
  const [before = [], after = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  const parts = [...before, ...after]
  if (!parts.every((part) => /^[0-9a-f]{1,4}$/i.test(part))) return undefined
  if (halves.length === 1 ? parts.length !== 8 : parts.length > 7) return undefined
  const zeros = Array.from({ length: 8 - parts.length }, () => '0')
  return [...before, ...zeros, ...after].reduce(
    (sum, part) => sum * 0x10000n + BigInt(`0x${part}`),
    0n,
  )
}

function expandEmbeddedV4(text: string): string | undefined {
  const at = text.lastIndexOf(':') + 1
  if (!text.includes('.')) return text
  const v4 = parseV4(text.slice(at))
  if (v4 === undefined) return undefined
  return `${text.slice(0, at)}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`
}

export function formatAddress(address: bigint, bits: 32 | 128): string {
  return bits === 32 ? formatV4(address) : formatV6(address)
}

function formatV4(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 0xffn).join('.')
}

/** RFC 5952: the first of the longest runs of zero groups becomes `::`. */
function formatV6(address: bigint): string {
  const parts = Array.from({ length: 8 }, (_, index) =>
    ((address >> BigInt(112 - index * 16)) & 0xffffn).toString(16),
  )
  const { start, length } = longestZeroRun(parts)
  if (length < 2) return parts.join(':')
  return `${parts.slice(0, start).join(':')}::${parts.slice(start + length).join(':')}`
}

function longestZeroRun(parts: readonly string[]): {
  readonly start: number
  readonly length: number
} {
  let best = { start: 0, length: 0 }
  let start = 0
  for (const [index, part] of parts.entries()) {
    if (part !== '0') start = index + 1
    else if (index + 1 - start > best.length) best = { start, length: index + 1 - start }
  }
  return best
}
