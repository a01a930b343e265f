import { DEFAULT_HOST_NETWORK, portKey, type PublicNode } from '../../model/index.ts'

/** An address of a node at which ports can be given out. */
export interface HostAddress {
  readonly alias: string
  readonly address: string
  readonly device: string
}

const PORT_MAX = 65_535
/** A list as long as this names every port there is, with room to spare. */
const RANGES_MAX = 256

/** The node's addresses by the name of their host network; the first of a name serves its ports. */
export function hostAddresses(node: PublicNode): readonly HostAddress[] {
  const { NodeNetworks: interfaces, Networks: networks } = node.NodeResources
  const named = (interfaces ?? []).flatMap((network) =>
    (network.Addresses ?? []).map((entry) => ({
      alias: entry.Alias,
      address: entry.Address,
      device: network.Device,
    })),
  )
  if (named.length > 0) return named
  return (networks ?? [])
    .filter((network) => network.IP !== '')
    .map((network) => ({
      alias: DEFAULT_HOST_NETWORK,
      address: network.IP,
      device: network.Device,
    }))
}

/** Ports that the node keeps for itself, as keys of usage. */
export function reservedPorts(node: PublicNode): ReadonlySet<string> {
  const everywhere = parsePorts(node.ReservedResources.Networks.ReservedHostPorts)
  const here = (node.NodeResources.NodeNetworks ?? []).flatMap((network) =>
    (network.Addresses ?? []).flatMap((entry) =>
      parsePorts(entry.ReservedPorts).map((port) => portKey(entry.Address, port)),
    ),
  )
  const shared = hostAddresses(node).flatMap(({ address }) =>
    everywhere.map((port) => portKey(address, port)),
  )
  return new Set([...here, ...shared])
}

/**
 * `22,80,8500-8600`; what is no port is skipped, because an agent's configuration is checked there.
 */
export function parsePorts(text: string): readonly number[] {
  const ports = new Set<number>()
  for (const part of text.split(',').slice(0, RANGES_MAX)) {
    const [, from, to] = /^\s*(\d{1,5})(?:-(\d{1,5}))?\s*$/.exec(part) ?? []
    if (from === undefined) continue
    const last = Math.min(Number(to ?? from), PORT_MAX)
    for (let port = Number(from); port <= last; port++) ports.add(port)
  }
  return [...ports].toSorted((a, b) => a - b)
}
