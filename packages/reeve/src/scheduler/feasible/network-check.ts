import type { NetworkResource, TaskGroup } from '@reeve/contract'
import type { PublicNode } from '../../model/index.ts'
import { portsOf } from '../rank/port-ask.ts'
import { portTable } from '../rank/ports.ts'

/**
 * The node must offer the network's mode, and each port's host network. Undefined when the group
 * asks for neither.
 */
export function networkCheck(
  group: TaskGroup,
): ((node: PublicNode) => string | undefined) | undefined {
  const network = group.Networks?.[0]
  const ports = portsOf(group)
  if (network === undefined && ports.length === 0) return undefined
  const mode = network === undefined ? 'host' : modeOf(network)
  const hostNetworks = [...new Set(ports.map((port) => port.HostNetwork))]
  const drivers = SHARED_BY_ALL.has(mode) ? [] : driversInNetwork(group)
  return (node) => {
    if (!offers(node, mode)) return 'missing network'
    const outside = drivers.find((name) => node.Attributes[networkAttribute(name)] === 'none')
    if (outside !== undefined) return `missing network for driver ${outside}`
    if (hostNetworks.length === 0) return undefined
    const { addresses } = portTable(node)
    const missing = hostNetworks.find((name) => !addresses.has(name))
    return missing === undefined ? undefined : `missing host network ${JSON.stringify(missing)}`
  }
}

/** The mode of the group's network that not every node offers; else empty. */
export function isolatedMode({ Networks }: TaskGroup): string {
  const mode = Networks?.[0]?.Mode ?? ''
  return SHARED_BY_ALL.has(mode) ? '' : mode
}

/** A driver says here whether its tasks can be in the network of their allocation. */
const networkAttribute = (driver: string): string => `driver.${driver}.allocation_network`

/** Of tasks that have no network of their own by `network_mode`. */
function driversInNetwork({ Tasks }: TaskGroup): readonly string[] {
  const tasks = (Tasks ?? []).filter(({ Config }) => (Config?.['network_mode'] ?? '') === '')
  return [...new Set(tasks.map(({ Driver }) => Driver))]
}

/** Every node has the network of its host, and none is what it can always give. */
const SHARED_BY_ALL: ReadonlySet<string> = new Set(['host', 'none'])

function offers(node: PublicNode, mode: string): boolean {
  if (SHARED_BY_ALL.has(mode)) return true
  const { Networks: networks, NodeNetworks: interfaces } = node.NodeResources
  return (
    (networks ?? []).some((network) => modeOf(network) === mode) ||
    (interfaces ?? []).some((network) => network.Mode === mode)
  )
}

function modeOf(network: NetworkResource): string {
  return network.Mode === '' ? 'host' : network.Mode
}
