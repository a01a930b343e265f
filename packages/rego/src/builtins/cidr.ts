import { formatAddress, parseAddress, parseCidr } from '@reeve/kit/ip-address.ts'

/** A range of addresses of one kind. */
export interface Cidr {
  readonly first: bigint
  readonly last: bigint
  readonly bits: 32 | 128
  /** As it is written when it stays on its own. */
  readonly text: string
}

/** A number with a leading zero could be octal, so it is refused. */
const AMBIGUOUS = /(?:^|[.:])0[0-9]+(?:\.|$|\/)/

export function parseNetwork(text: string): Cidr | undefined {
  const [addressText = ''] = text.split('/')
  const isV4 = !text.includes(':')
  if (isV4 && AMBIGUOUS.test(addressText)) return undefined
  // Zeros before the length mean nothing.
  const prefix = parseCidr(text.replace(/\/0+(?=[0-9])/, '/'))
  if (!prefix.ok) return undefined
  const { bits, length } = prefix.value
  const plain = unmapped(prefix.value)
  return networkFrom(plain.address, plain.bits, { length: length - (bits - plain.bits) })
}

interface Address {
  readonly address: bigint
  readonly bits: 32 | 128
}

/** RFC 4291, section 2.5.5.2: `::ffff:10.0.0.1` is the address 10.0.0.1 of version 4. */
function unmapped({ address, bits }: Address): Address {
  return bits === 128 && address >> 32n === 0xffffn
    ? { address: address & 0xffffffffn, bits: 32 }
    : { address, bits }
}

export function parseHost(text: string): Address | undefined {
  const found = parseAddress(text)
  return found === undefined ? undefined : unmapped(found)
}

function networkFrom(
  address: bigint,
  bits: 32 | 128,
  { length, text }: { readonly length: number; readonly text?: string },
): Cidr {
  const size = 1n << BigInt(bits - length)
  const first = address - (address % size)
  return {
    first,
    last: first + size - 1n,
    bits,
    text: text ?? `${formatAddress(first, bits)}/${length}`,
  }
}

/** A network, or an address of version 4, which stands for the network of its class. */
export function parseCidrOrAddress(text: string): Cidr | 'no-length' | undefined {
  const address = AMBIGUOUS.test(text) ? undefined : parseHost(text)
  if (address === undefined) return parseNetwork(text)
  if (address.bits === 128) return 'no-length'
  const length = classLength(address.address)
  const shown = formatAddress(address.address, 32)
  return networkFrom(address.address, 32, { length, text: `${shown}/${length}` })
}

/** RFC 791, section 3.2: the leading bits of an address said how long its network was. */
function classLength(address: bigint): number {
  const first = Number(address >> 24n)
  if (first < 128) return 8
  return first < 192 ? 16 : 24
}

/** An address of version 4 is not in a network of version 6, whatever its number. */
export function containsAddress(network: Cidr, address: bigint, bits: 32 | 128): boolean {
  return network.bits === bits && address >= network.first && address <= network.last
}

export function containsNetwork(outer: Cidr, inner: Cidr): boolean {
  return outer.bits === inner.bits && inner.first >= outer.first && inner.last <= outer.last
}

/** The fewest networks that have the same addresses. */
export function mergeNetworks(networks: readonly Cidr[]): readonly string[] {
  const sorted = networks.toSorted((a, b) => a.bits - b.bits || order(a.first, b.first))
  const merged: (Cidr & { readonly isJoined?: boolean })[] = []
  for (const network of sorted) {
    const last = merged.at(-1)
    if (last === undefined || last.bits !== network.bits || network.first > last.last + 1n) {
      merged.push(network)
      continue
    }
    merged.pop()
    merged.push({
      ...last,
      last: last.last > network.last ? last.last : network.last,
      isJoined: true,
    })
  }
  return merged.flatMap((one) => (one.isJoined === true ? splitRange(one) : [one.text]))
}

function order(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** From the front always the largest network that begins there and does not go too far. */
function splitRange({ first, last, bits }: Cidr): readonly string[] {
  const texts: string[] = []
  for (let at = first; at <= last;) {
    let length: number = bits
    while (length > 0) {
      const size = 1n << BigInt(bits - length + 1)
      if (at % size !== 0n || at + size - 1n > last) break
      length--
    }
    texts.push(`${formatAddress(at, bits)}/${length}`)
    at += 1n << BigInt(bits - length)
  }
  return texts
}
