import { formatAddress } from '@reeve/kit/ip-address.ts'
import {
  isArray,
  kindOf,
  ObjectValue,
  SetBuilder,
  setOf,
  SetValue,
  type Value,
} from '../value/value.ts'
import { define, typeMismatch, type Builtin, type CallContext } from './builtin.ts'
import {
  containsAddress,
  containsNetwork,
  mergeNetworks,
  parseCidrOrAddress,
  parseHost,
  parseNetwork,
  type Cidr,
} from './cidr.ts'
import { membersOf } from './operands.ts'

const COLLECTION = ['string', 'array', 'set', 'object'] as const

export const NET_BUILTINS: readonly Builtin[] = [
  ...(['net.cidr_contains', 'net.cidr_overlap'] as const).map((name) =>
    define({ name, operands: ['string', 'string'], result: 'boolean' }, contains, {
      isDeprecated: name === 'net.cidr_overlap',
    }),
  ),
  define(
    { name: 'net.cidr_intersects', operands: ['string', 'string'], result: 'boolean' },
    (context, first, second) => {
      const a = useNetwork(context, first)
      if (a === undefined) return undefined
      const b = useNetwork(context, second)
      if (b === undefined) return undefined
      return containsAddress(a, b.first, b.bits) || containsAddress(b, a.first, a.bits)
    },
  ),
  define(
    { name: 'net.cidr_contains_matches', operands: [COLLECTION, COLLECTION], result: 'set' },
    containsMatches,
  ),
  define({ name: 'net.cidr_expand', operands: ['string'], result: 'set' }, (context, text) => {
    const network = useNetwork(context, text)
    if (network === undefined) return undefined
    const count = network.last - network.first + 1n
    // Charged before the addresses are created, because there may be more than the limit.
    context.charge(Number(count))
    return setOf(
      Array.from({ length: Number(count) }, (_, at) =>
        formatAddress(network.first + BigInt(at), network.bits),
      ),
    )
  }),
  define({ name: 'net.cidr_is_valid', operands: ['any'], result: 'boolean' }, (_context, value) =>
    typeof value === 'string' ? parseNetwork(value) !== undefined : false,
  ),
  define({ name: 'net.cidr_merge', operands: ['any'], result: 'set' }, merge),
]

function useNetwork(context: CallContext, text: string): Cidr | undefined {
  context.charge(1)
  return parseNetwork(text) ?? context.fail(`invalid CIDR address: ${text}`)
}

/** `inner` may be a network or an address. */
function contains(context: CallContext, outer: string, inner: string): boolean | undefined {
  const network = useNetwork(context, outer)
  if (network === undefined) return undefined
  const address = parseHost(inner)
  if (address !== undefined) return containsAddress(network, address.address, address.bits)
  const other = parseNetwork(inner)
  return other === undefined
    ? context.fail(`not a valid textual representation of an IP address or CIDR: ${inner}`)
    : containsNetwork(network, other)
}

interface Candidate {
  readonly cidr: string
  /** Index of the operand in the result. */
  readonly index: Value
}

/** Returns pairs of the indexes of networks and of their members. */
function containsMatches(context: CallContext, outer: Value, inner: Value): SetValue | undefined {
  const outers = candidatesOf(context, outer, 1)
  if (outers === undefined) return undefined
  const inners = candidatesOf(context, inner, 2)
  if (inners === undefined) return undefined
  const pairs = new SetBuilder()
  for (const one of outers)
    for (const other of inners) {
      const isInside = contains(context, one.cidr, other.cidr)
      if (isInside === undefined) return undefined
      if (isInside) pairs.add([one.index, other.index])
    }
  return pairs.build()
}

function candidatesOf(
  context: CallContext,
  value: Value,
  position: number,
): readonly Candidate[] | undefined {
  if (typeof value === 'string') return [{ cidr: value, index: value }]
  const candidates: Candidate[] = []
  for (const [index, item] of entriesOf(value)) {
    const cidr = isArray(item) ? item[0] : item
    if (cidr === undefined || (typeof item !== 'string' && !isArray(item)))
      return context.fail(`operand ${position}: element must be string or non-empty array`)
    if (typeof cidr !== 'string') return context.failType(typeMismatch(1, 'string', kindOf(cidr)))
    candidates.push({ cidr, index })
  }
  context.charge(candidates.length)
  return candidates
}

function entriesOf(value: Value): readonly (readonly [Value, Value])[] {
  if (isArray(value)) return value.map((item, at) => [at, item] as const)
  if (value instanceof SetValue) return value.sorted().map((item) => [item, item] as const)
  return value instanceof ObjectValue ? value.entries() : []
}

function merge(context: CallContext, value: Value): SetValue | undefined {
  if (!isArray(value) && !(value instanceof SetValue))
    return context.fail('operand must be an array')
  const networks: Cidr[] = []
  const members = membersOf(value)
  context.charge(members.length)
  for (const element of members) {
    if (typeof element !== 'string') return context.fail('element must be string')
    const network = parseCidrOrAddress(element)
    if (network === undefined) return context.fail(`invalid CIDR address: ${element}`)
    if (network === 'no-length') return context.fail('IPv6 invalid: needs prefix length')
    networks.push(network)
  }
  return setOf(mergeNetworks(networks))
}
