import { lookup as resolveName } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** An address that a name stands for. */
interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

export type ResolveHost = (host: string) => Promise<readonly ResolvedAddress[]>

export interface AddressPolicy {
  /** Whether loopback, link-local and unspecified addresses may be reached. */
  readonly allowsLocal: boolean
  /** Ends the refusal of a local address; by default it says how to permit one for artifacts. */
  readonly hint?: string
  /** The system's resolver unless given. */
  readonly resolve?: ResolveHost
}

/**
 * Addresses that only this machine, its link or its cloud provider answers at. A task without a
 * network of its own must not reach them by way of the agent.
 */
const LOCAL_ADDRESSES = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  // Instance metadata of Alibaba Cloud and Azure, which is not link-local.
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
] as const)
  LOCAL_ADDRESSES.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  // Unspecified, loopback, and IPv4 addresses in the form `::127.0.0.1`.
  ['::', 96],
  ['fe80::', 10],
  // Instance metadata of AWS and Google Cloud.
  ['fd00:ec2::254', 128],
  ['fd20:ce::254', 128],
  // The local IPv4 networks behind a NAT64 gateway.
  ['64:ff9b::', 104],
  ['64:ff9b::7f00:0', 104],
  ['64:ff9b::a9fe:0', 112],
] as const)
  LOCAL_ADDRESSES.addSubnet(network, prefix, 'ipv6')

/** The form `::ffff:127.0.0.1` counts as the IPv4 address in it. */
export function isLocalAddress(address: string): boolean {
  const [withoutZone = ''] = address.split('%')
  const family = isIP(withoutZone)
  return family !== 0 && LOCAL_ADDRESSES.check(withoutZone, family === 4 ? 'ipv4' : 'ipv6')
}

/**
 * A lookup for `node:net` and `node:http` that yields only addresses the policy allows. The caller
 * connects to what it yields, so a name cannot resolve to another address between check and use.
 * One local address among several rejects the name.
 */
export function newPolicyLookup(policy: AddressPolicy, sourceDescription: string): LookupFunction {
  const resolve = policy.resolve ?? systemResolve
  const resolveAllowed = async (host: string): Promise<readonly ResolvedAddress[]> => {
    const addresses = await resolve(host)
    for (const { address } of addresses) requireAllowedAddress(address, policy, sourceDescription)
    return addresses
  }
  const lookUp = async (
    ...[host, options, callback]: Parameters<LookupFunction>
  ): Promise<void> => {
    const addresses = await resolveAllowed(host).catch(toError)
    if (addresses instanceof Error) {
      callback(addresses, '', 0)
      return
    }
    const [firstAddress] = addresses
    if (options.all === true) callback(null, [...addresses])
    else if (firstAddress !== undefined) callback(null, firstAddress.address, firstAddress.family)
    else callback(new Error(`${host} has no address`), '', 0)
  }
  return (host, options, callback) => void lookUp(host, options, callback)
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(errorMessage(thrown))
}

/**
 * Fault `task-artifact` for a local address. Names pass: the runtime calls a lookup for names only,
 * so a host that may be an address is checked here first.
 */
export function requireAllowedAddress(
  host: string,
  policy: AddressPolicy,
  sourceDescription: string,
): void {
  if (!policy.allowsLocal && isLocalAddress(host))
    throw localAddressFault(policy, sourceDescription, host)
}

/** Without the brackets that an IPv6 address has in a URL. */
export function unbracketHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

function systemResolve(host: string): Promise<readonly ResolvedAddress[]> {
  return resolveName(host, { all: true })
}

const ALLOW_LOCAL_HINT =
  'which this node does not allow (client.artifact.allow_local = true permits it)'

/** The beginning of the message names the source: `Artifact source http://host/file`. */
function localAddressFault(
  { hint = ALLOW_LOCAL_HINT }: AddressPolicy,
  sourceDescription: string,
  address: string,
) {
  return new Fault('task-artifact', `${sourceDescription} resolves to ${address}, ${hint}`)
}
