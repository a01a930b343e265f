import { access } from 'node:fs/promises'
import type { AllocationNetworkStatus } from '@reeve/contract'
import { errorMessage, Fault } from '@reeve/kit/fault.ts'
import type { AgentTaskGroup, Assignment } from '../assignment.ts'
import { HOST_NETWORK, type DnsSettings, type TaskNetwork, type TaskPort } from '../driver.ts'
import type { RunNetworkCommand } from '../run-program.ts'
import type { Interpolator } from '../task/interpolate.ts'

/** The network that the tasks of one allocation share. */
export interface AllocationNetwork {
  /** Path of the network namespace. */
  readonly namespacePath: string
  /** Addresses in the network, and the interface that has them; empty if there are none. */
  readonly address: string
  readonly addressIPv6: string
  readonly interfaceName: string
  /** Resolver settings of the network, which a group may override. */
  readonly dns?: DnsSettings | undefined
}

/** Network request of a group. */
export interface NetworkRequest {
  readonly allocationId: string
  /** `bridge` or `cni/NAME`. */
  readonly mode: string
  readonly ports: readonly TaskPort[]
  /** Arguments for the plug-ins of the mode `cni/NAME`. */
  readonly cniArgs: Readonly<Record<string, string>>
}

/** Status of a network mode that groups may request. */
export interface NetworkModeStatus {
  readonly mode: string
  /** Why the node does not support the mode; undefined if it does. */
  readonly problem: string | undefined
}

/** Creates and removes networks of allocations. Absent on a node that only has its own network. */
export interface NetworkManager {
  /** Loads the networks of the previous agent. */
  loadState(): Promise<void>
  /** Probes the supported modes without changing the machine. */
  probeModes(): Promise<readonly NetworkModeStatus[]>
  /** Creates the network. Idempotent. */
  setUp(request: NetworkRequest): Promise<AllocationNetwork>
  /** Creates a network without connectivity except between its tasks. Idempotent. */
  setUpLoopbackOnly(allocationId: string): Promise<AllocationNetwork>
  /** Network of the allocation, even if an earlier agent created it. */
  find(allocationId: string): AllocationNetwork | undefined
  /** Idempotent. */
  tearDown(allocationId: string): Promise<void>
}

/** Network mode of a group; empty means `host`. */
export function networkModeOf({ Networks }: AgentTaskGroup): string {
  const mode = Networks?.[0]?.Mode ?? ''
  return mode === '' ? 'host' : mode
}

/** Network status for the servers. */
export function toNetworkStatus(
  { Networks }: AgentTaskGroup,
  { address, addressIPv6, interfaceName, dns }: AllocationNetwork,
): AllocationNetworkStatus {
  const networkDns =
    dns === undefined
      ? null
      : { Servers: dns.servers, Searches: dns.searches, Options: dns.options }
  const DNS = Networks?.[0]?.DNS ?? networkDns
  return { InterfaceName: interfaceName, Address: address, AddressIPv6: addressIPv6, DNS }
}

/** Ports assigned to the group. */
export function groupPortsOf({ allocation }: Assignment): readonly TaskPort[] {
  return (allocation.AllocatedResources.Shared.Ports ?? []).map(({ Label, HostIP, Value, To }) => {
    return { label: Label, hostIp: HostIP, hostPort: Value, to: To }
  })
}

/**
 * CNI arguments of the group with references resolved. They are passed as one string of pairs, so a
 * value must not contain the separator.
 */
export function resolveCniArguments(
  { Networks }: AgentTaskGroup,
  interpolator: Interpolator,
): Readonly<Record<string, string>> {
  const entries = Object.entries(Networks?.[0]?.CNI?.Args ?? {}).map(([name, rawValue]) => {
    const value = interpolator.resolve(rawValue, `Networks.CNI.Args.${name}`)
    if (!value.includes(';')) return [name, value]
    const message = `the CNI argument ${JSON.stringify(name)} has a semicolon in its value`
    throw new Fault('network', `${message}: ${JSON.stringify(value)}`)
  })
  return Object.fromEntries(entries)
}

/** Network of a task. Host names and resolver settings may contain references. */
export function buildTaskNetwork(
  { group }: Assignment,
  network: AllocationNetwork | undefined,
  interpolator: Interpolator,
): Omit<TaskNetwork, 'ports'> {
  const resolve = (value: string): string => interpolator.resolve(value, 'Networks')
  const requested = group.Networks?.[0]
  const mode = networkModeOf(group)
  const hostname = resolve(requested?.Hostname ?? '')
  const dns = requested?.DNS ?? null
  const address = network?.address ?? ''
  return {
    ...HOST_NETWORK,
    mode,
    namespacePath: network?.namespacePath,
    hostname,
    hosts: address === '' || hostname === '' ? [] : [{ address, names: [hostname] }],
    dns:
      dns === null
        ? network?.dns
        : {
            servers: (dns.Servers ?? []).map(resolve),
            searches: (dns.Searches ?? []).map(resolve),
            options: (dns.Options ?? []).map(resolve),
          },
  }
}

/** Directory of named network namespaces. */
export const NAMESPACES_DIR = '/run/netns'

/** Creates a network namespace named after the allocation, with loopback up. */
export async function createNamespace(run: RunNetworkCommand, allocationId: string): Promise<void> {
  await run('ip', ['netns', 'add', allocationId])
  await run('ip', ['-n', allocationId, 'link', 'set', 'lo', 'up'])
}

/** Deletes the namespace. Idempotent. One that a process still uses only loses its name. */
export async function deleteNamespace(run: RunNetworkCommand, allocationId: string): Promise<void> {
  await run('ip', ['netns', 'delete', allocationId]).catch((thrown: unknown) => {
    if (!/No such file/.test(errorMessage(thrown))) throw thrown
  })
}

export function hasNamespace(namespacePath: string): Promise<boolean> {
  return access(namespacePath).then(
    () => true,
    () => false,
  )
}
