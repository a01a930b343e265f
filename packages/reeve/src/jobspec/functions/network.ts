import { ok, type Result } from '@reeve/kit/result.ts'
import type { FunctionDefinition, FunctionError } from '@reeve/hcl'
import { bigInteger, text, integer } from './argument.ts'
import { formatAddress, parseCidr, type Cidr } from '@reeve/kit/ip-address.ts'
import { define, defineVariadic, failArgument, type FunctionResult } from './define.ts'
import { SUBNETS_MAX } from './limits.ts'

export const networkFunctions: Readonly<Record<string, FunctionDefinition>> = {
  cidrhost: define([text('prefix'), bigInteger('hostnum')], ([network, host]) =>
    withPrefix(network, (prefix) => hostAddress(prefix, host)),
  ),
  cidrnetmask: define([text('prefix')], ([network]) =>
    withPrefix(network, (prefix) =>
      prefix.bits === 32
        ? ok(formatAddress(netmask(prefix), 32))
        : failArgument(0, 'prefix must be of IPv4: IPv6 has no masks'),
    ),
  ),
  cidrsubnet: define(
    [text('prefix'), integer('newbits', { min: 0 }), bigInteger('netnum')],
    ([network, newBits, number]) =>
      withPrefix(network, (prefix) => {
        const subnet = subnetAt(prefix, newBits, number)
        return subnet.ok ? ok(formatPrefix(subnet.value)) : subnet
      }),
  ),
  cidrsubnets: defineVariadic(
    { parameters: [text('prefix')], rest: integer('newbits', { min: 1 }), countMax: SUBNETS_MAX },
    ([network], allBits) => withPrefix(network, (prefix) => subnetsOf(prefix, allBits)),
  ),
}

function withPrefix(network: string, use: (prefix: Cidr) => FunctionResult): FunctionResult {
  const prefix = parseCidr(network)
  return prefix.ok ? use(prefix.value) : failArgument(0, `prefix ${prefix.error}`)
}

/** A negative number counts from the end: -1 is the last address. */
function hostAddress(prefix: Cidr, host: bigint): FunctionResult {
  const count = 1n << BigInt(prefix.bits - prefix.length)
  const offset = host < 0n ? host + count : host
  return offset < 0n || offset >= count
    ? failArgument(1, `hostnum must be from ${-count} to ${count - 1n} in a prefix of this length`)
    : ok(formatAddress(prefix.address + offset, prefix.bits))
}

function netmask({ bits, length }: Cidr): bigint {
  return ((1n << BigInt(length)) - 1n) << BigInt(bits - length)
}

function subnetAt(prefix: Cidr, newBits: number, number: bigint): Result<Cidr, FunctionError> {
  const length = prefix.length + newBits
  if (length > prefix.bits)
    return failArgument(
      1,
      `newbits must be at most ${prefix.bits - prefix.length} in a prefix of this length`,
    )
  const count = 1n << BigInt(newBits)
  const index = number < 0n ? number + count : number
  if (index < 0n || index >= count)
    return failArgument(2, `netnum must be below ${count}, as ${newBits} bits are added`)
  const address = prefix.address + (index << BigInt(prefix.bits - length))
  return ok({ ...prefix, address, length })
}

/** Allocates subnets in order, each at the next aligned address. */
function subnetsOf(prefix: Cidr, allBits: readonly number[]): FunctionResult {
  const end = prefix.address + (1n << BigInt(prefix.bits - prefix.length))
  const subnets: string[] = []
  let next = prefix.address
  for (const [index, newBits] of allBits.entries()) {
    const length = prefix.length + newBits
    if (length > prefix.bits)
      return failArgument(
        index + 1,
        `newbits must be at most ${prefix.bits - prefix.length} in a prefix of this length`,
      )
    const size = 1n << BigInt(prefix.bits - length)
    const address = ((next + size - 1n) / size) * size
    if (address + size > end)
      return failArgument(
        index + 1,
        `there is no room for a subnet with ${newBits} new bits after ${describe(subnets)}`,
      )
    subnets.push(formatPrefix({ ...prefix, address, length }))
    next = address + size
  }
  return ok(subnets)
}

function describe(subnets: readonly string[]): string {
  return subnets.at(-1) ?? 'the start'
}

function formatPrefix({ address, bits, length }: Cidr): string {
  return `${formatAddress(address, bits)}/${length}`
}
