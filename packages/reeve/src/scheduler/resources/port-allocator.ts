import type { NetworkResource, Port, TaskGroup } from '@reeve/contract'
import { assert } from '@reeve/kit/fault.ts'
import type { Random } from '@reeve/kit/clock.ts'
import {
  portKey,
  type NodeUsage,
  type PublicNode,
  DEFAULT_HOST_NETWORK,
  PORT_MAX,
} from '../../model/index.ts'

/** A host port assigned to a request. */
export interface AssignedPort {
  readonly request: PortRequest
  readonly value: number
  readonly address: HostAddress
}

/** Addresses and ports of a node, computed once per node row. */
interface NodePorts {
  readonly addresses: ReadonlyMap<string, HostAddress>
  readonly reserved: ReadonlySet<string>
  /** Dynamic ports are chosen from [min, max). */
  readonly min: number
  readonly max: number
}

const RANDOM_ATTEMPTS_MAX = 20
const DYNAMIC_MIN_DEFAULT = 20_000
const DYNAMIC_MAX_DEFAULT = 32_000

/** Cached per node row: rows are immutable. */
const nodePortsCache = new WeakMap<PublicNode, NodePorts>()

export function nodePorts(node: PublicNode): NodePorts {
  const cached = nodePortsCache.get(node)
  if (cached !== undefined) return cached
  const ports = readNodePorts(node)
  nodePortsCache.set(node, ports)
  return ports
}

function readNodePorts(node: PublicNode): NodePorts {
  const addresses = new Map<string, HostAddress>()
  for (const address of hostAddresses(node))
    if (!addresses.has(address.alias)) addresses.set(address.alias, address)
  const { MinDynamicPort: min, MaxDynamicPort: max } = node.NodeResources
  return {
    addresses,
    reserved: reservedPorts(node),
    min: min > 0 ? min : DYNAMIC_MIN_DEFAULT,
    max: max > 0 ? max : DYNAMIC_MAX_DEFAULT,
  }
}

/** Returns why the node cannot provide the ports; undefined if it can. */
export function portConflict(
  requests: readonly PortRequest[],
  ports: NodePorts,
  usage: NodeUsage,
): string | undefined {
  const taken = takenPorts(ports, usage)
  const dynamicCounts = new Map<string, number>()
  for (const request of requests) {
    const address = ports.addresses.get(request.HostNetwork)
    if (address === undefined) return `network: no address in host network ${request.HostNetwork}`
    if (!request.isStatic) {
      dynamicCounts.set(address.address, (dynamicCounts.get(address.address) ?? 0) + 1)
      continue
    }
    const key = portKey(address.address, request.Value)
    if (!request.IgnoreCollision && taken.has(key))
      return `network: reserved port collision ${request.Label}=${request.Value}`
    taken.add(key)
  }
  for (const [address, count] of dynamicCounts)
    if (!hasFreePorts(address, count, { ports, taken }))
      return 'network: dynamic port selection failed'
  return undefined
}

/** Assigns a port to each request. The node must have passed the check before. */
export function assignPorts(
  requests: readonly PortRequest[],
  options: { readonly table: NodePorts; readonly usage: NodeUsage; readonly random: Random },
): readonly AssignedPort[] {
  const { table, usage, random } = options
  const taken = takenPorts(table, usage)
  const searchStarts = new Map<string, number>()
  return requests.map((request) => {
    const address = table.addresses.get(request.HostNetwork)
    assert(address !== undefined, 'a node without the host network was refused before')
    const value = request.isStatic
      ? request.Value
      : chooseDynamicPort(address.address, { ports: table, taken, random, searchStarts })
    taken.add(portKey(address.address, value))
    return { request, value, address }
  })
}

interface PortState {
  readonly ports: NodePorts
  readonly taken: TakenPorts
}

interface DynamicPortState extends PortState {
  readonly random: Random
  /**
   * Lowest port per address that may be free. Ports are only taken here, so the search continues
   * where it ended; starting over for ten thousand ports would take seconds.
   */
  readonly searchStarts: Map<string, number>
}

function chooseDynamicPort(address: string, options: DynamicPortState): number {
  const { ports, taken, random, searchStarts } = options
  const size = ports.max - ports.min
  let previous: number | undefined
  for (let attempt = 0; attempt < RANDOM_ATTEMPTS_MAX; attempt++) {
    const port = ports.min + Math.floor(random.next() * size)
    // A dry run uses a constant random source, so retrying is pointless.
    if (port === previous) break
    previous = port
    if (!taken.has(portKey(address, port))) return port
  }
  for (let port = searchStarts.get(address) ?? ports.min; port < ports.max; port++)
    if (!taken.has(portKey(address, port))) {
      searchStarts.set(address, port)
      return port
    }
  throw new Error('invariant broken: a node without a free port was refused before')
}

/** Counts port by port only if the node is nearly full. */
function hasFreePorts(address: string, count: number, { ports, taken }: PortState): boolean {
  const size = ports.max - ports.min
  if (size - taken.size >= count) return true
  let free = 0
  for (let port = ports.min; port < ports.max && free < count; port++)
    if (!taken.has(portKey(address, port))) free += 1
  return free >= count
}

/** Ports in use, reserved by the node, or already assigned in this request. */
interface TakenPorts {
  readonly size: number
  has(key: string): boolean
  add(key: string): void
}

function takenPorts(ports: NodePorts, usage: NodeUsage): TakenPorts {
  const assigned = new Set<string>()
  return {
    get size() {
      return assigned.size + usage.ports.size + ports.reserved.size
    },
    has: (key) => assigned.has(key) || usage.ports.has(key) || ports.reserved.has(key),
    add: (key) => assigned.add(key),
  }
}

/** A host port that a group requires. */
export interface PortRequest extends Port {
  /** Task whose network has the port; undefined for the group network. */
  readonly task: string | undefined
  readonly isStatic: boolean
}

/**
 * Returns all ports of a group (only the first network of the group and of each task counts),
 * static ones first, so that dynamic ports do not take their numbers.
 */
export function portRequests(group: TaskGroup): readonly PortRequest[] {
  const networks = [
    { task: undefined, network: group.Networks?.[0] },
    ...group.Tasks.map((task) => ({ task: task.Name, network: task.Resources.Networks?.[0] })),
  ]
  const requests = networks.flatMap(({ task, network }) =>
    network === undefined ? [] : portRequestsOf(network, task),
  )
  return [...requests.filter((ask) => ask.isStatic), ...requests.filter((ask) => !ask.isStatic)]
}

function portRequestsOf(
  network: NetworkResource,
  task: string | undefined,
): readonly PortRequest[] {
  // All ports of a task network are on its single address.
  const hostNetwork = task === undefined ? {} : { HostNetwork: DEFAULT_HOST_NETWORK }
  const toRequest = (port: Port, isStatic: boolean): PortRequest => ({
    ...port,
    ...hostNetwork,
    task,
    isStatic,
  })
  return [
    ...(network.ReservedPorts ?? []).map((port) => toRequest(port, true)),
    ...(network.DynamicPorts ?? []).map((port) => toRequest(port, false)),
  ]
}

/** An address of a node on which ports can be assigned. */
interface HostAddress {
  readonly alias: string
  readonly address: string
  readonly device: string
}

/** Maximum number of ranges in a port list; enough for any useful list. */
const PORT_RANGES_MAX = 256

/**
 * Addresses of the node with the names of their host networks; the first address of a name is used.
 */
function hostAddresses(node: PublicNode): readonly HostAddress[] {
  const { NodeNetworks: interfaces, Networks: networks } = node.NodeResources
  const aliased = (interfaces ?? []).flatMap((network) =>
    (network.Addresses ?? []).map((entry) => ({
      alias: entry.Alias,
      address: entry.Address,
      device: network.Device,
    })),
  )
  if (aliased.length > 0) return aliased
  return (networks ?? [])
    .filter((network) => network.IP !== '')
    .map((network) => ({
      alias: DEFAULT_HOST_NETWORK,
      address: network.IP,
      device: network.Device,
    }))
}

/** Ports reserved on the node, as usage keys. */
function reservedPorts(node: PublicNode): ReadonlySet<string> {
  const onAllAddresses = parsePorts(node.ReservedResources.Networks.ReservedHostPorts)
  const onOneAddress = (node.NodeResources.NodeNetworks ?? []).flatMap((network) =>
    (network.Addresses ?? []).flatMap((entry) =>
      parsePorts(entry.ReservedPorts).map((port) => portKey(entry.Address, port)),
    ),
  )
  const keysOfAll = hostAddresses(node).flatMap(({ address }) =>
    onAllAddresses.map((port) => portKey(address, port)),
  )
  return new Set([...onOneAddress, ...keysOfAll])
}

/**
 * Parses a list such as `22,80,8500-8600`. Invalid parts are skipped; the agent validates its
 * configuration.
 */
export function parsePorts(text: string): readonly number[] {
  const ports = new Set<number>()
  for (const part of text.split(',').slice(0, PORT_RANGES_MAX)) {
    const [, from, to] = /^\s*(\d{1,5})(?:-(\d{1,5}))?\s*$/.exec(part) ?? []
    if (from === undefined) continue
    const last = Math.min(Number(to ?? from), PORT_MAX)
    for (let port = Number(from); port <= last; port++) ports.add(port)
  }
  return [...ports].toSorted((a, b) => a - b)
}
