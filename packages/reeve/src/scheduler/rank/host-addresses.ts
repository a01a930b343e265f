import { DEFAULT_HOST_NETWORK, portKey, type PublicNode } from '../../model/index.ts'

/** An address of a node on which ports can be assigned. */
export interface HostAddress {
  readonly alias: string
  readonly address: string
  readonly device: string
}

const PORT_MAX = 65_535
/** Maximum number of ranges in a port list; enough for any useful list. */
const PORT_RANGES_MAX = 256

/**
 * Addresses of the node with the names of their host networks; the first address of a name is used.
 */
export function hostAddresses(node: PublicNode): readonly HostAddress[] {
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
export function reservedPorts(node: PublicNode): ReadonlySet<string> {
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
