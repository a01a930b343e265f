import type { AllocationNetworkStatus } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import type { AgentTaskGroup, Assignment } from '../assignment.ts'
import { HOST_NETWORK, type DnsSettings, type TaskNetwork, type TaskPort } from '../task-launch.ts'
import type { Interpolator } from '../task/interpolate.ts'

/** The network that the tasks of one allocation share. */
export interface AllocationNetwork {
  /** The file of its namespace. */
  readonly namespacePath: string
  /** Its addresses inside, and the device that has them; empty where there is none. */
  readonly address: string
  readonly addressIPv6: string
  readonly interfaceName: string
  /** What it resolves names with, where the network says so; a group may say otherwise. */
  readonly dns?: DnsSettings | undefined
}

/** What a group asks of its network. */
export interface NetworkRequest {
  readonly allocationId: string
  /** `bridge` or `cni/NAME`. */
  readonly mode: string
  readonly ports: readonly TaskPort[]
  /** For the plug-ins of the mode `cni/NAME`. */
  readonly cniArgs: Readonly<Record<string, string>>
}

/** A mode that groups may ask for. */
export interface NetworkOffer {
  readonly mode: string
  /** Why this node cannot serve it; undefined when it can. */
  readonly problem: string | undefined
}

/** Creates and removes the networks of allocations. Absent on a node that has only its own. */
export interface AllocationNetworks {
  /** Reads what an agent before this one has given out. */
  open(): Promise<void>
  /** The modes that this node knows. Nothing is changed on the machine. */
  probe(): Promise<readonly NetworkOffer[]>
  /** Idempotent: what is there already stays. */
  setUp(request: NetworkRequest): Promise<AllocationNetwork>
  /** A network in which its tasks reach each other and nobody else; as `setUp`. */
  setUpAlone(allocationId: string): Promise<AllocationNetwork>
  /** What was set up for it, by whichever agent. */
  find(allocationId: string): AllocationNetwork | undefined
  /** Idempotent. */
  tearDown(allocationId: string): Promise<void>
}

/** Empty means the machine's own. */
export function networkMode({ Networks }: AgentTaskGroup): string {
  const mode = Networks?.[0]?.Mode ?? ''
  return mode === '' ? 'host' : mode
}

/** As the servers are told. */
export function networkStatus(
  { Networks }: AgentTaskGroup,
  { address, addressIPv6, interfaceName, dns }: AllocationNetwork,
): AllocationNetworkStatus {
  const given =
    dns === undefined
      ? null
      : { Servers: dns.servers, Searches: dns.searches, Options: dns.options }
  const DNS = Networks?.[0]?.DNS ?? given
  return { InterfaceName: interfaceName, Address: address, AddressIPv6: addressIPv6, DNS }
}

/** The ports that the group was given. */
export function groupPorts({ allocation }: Assignment): readonly TaskPort[] {
  return (allocation.AllocatedResources.Shared.Ports ?? []).map(({ Label, HostIP, Value, To }) => {
    return { label: Label, hostIp: HostIP, hostPort: Value, to: To }
  })
}

/**
 * The arguments of the group for CNI plug-ins, with references resolved. They are passed as one
 * text of pairs, so a value that holds a separator would become another argument.
 */
export function cniArguments(
  { Networks }: AgentTaskGroup,
  interpolator: Interpolator,
): Readonly<Record<string, string>> {
  const entries = Object.entries(Networks?.[0]?.CNI?.Args ?? {}).map(([name, given]) => {
    const value = interpolator.text(given, `Networks.CNI.Args.${name}`)
    if (!value.includes(';')) return [name, value]
    const message = `the CNI argument ${JSON.stringify(name)} has a semicolon in its value`
    throw new Fault('network', `${message}: ${JSON.stringify(value)}`)
  })
  return Object.fromEntries(entries)
}

/** The names of hosts and servers may have references. */
export function taskNetwork(
  { group }: Assignment,
  given: AllocationNetwork | undefined,
  interpolator: Interpolator,
): Omit<TaskNetwork, 'ports'> {
  const text = (value: string): string => interpolator.text(value, 'Networks')
  const wanted = group.Networks?.[0]
  const mode = networkMode(group)
  const hostname = text(wanted?.Hostname ?? '')
  const dns = wanted?.DNS ?? null
  const address = given?.address ?? ''
  return {
    ...HOST_NETWORK,
    mode,
    namespacePath: given?.namespacePath,
    hostname,
    hosts: address === '' || hostname === '' ? [] : [{ address, names: [hostname] }],
    dns:
      dns === null
        ? given?.dns
        : {
            servers: (dns.Servers ?? []).map(text),
            searches: (dns.Searches ?? []).map(text),
            options: (dns.Options ?? []).map(text),
          },
  }
}
