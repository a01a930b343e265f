import type { NetworkResource, TaskGroup } from '@reeve/contract'
import type { PublicNode } from '../../model/index.ts'
import { portsOf } from '../rank/port-ask.ts'
import { portTable } from '../rank/ports.ts'

/**
 * Scheduling reference §9.4: the node must offer the network's mode, and each port's host network.
 * Undefined when the group asks for neither.
 */
export function networkCheck(
  group: TaskGroup,
): ((node: PublicNode) => string | undefined) | undefined {
  const network = group.Networks?.[0]
  const ports = portsOf(group)
  if (network === undefined && ports.length === 0) return undefined
  const mode = network === undefined ? 'host' : modeOf(network)
  const hostNetworks = [...new Set(ports.map((port) => port.HostNetwork))]
  return (node) => {
    if (!offers(node, mode)) return 'missing network'
    if (hostNetworks.length === 0) return undefined
    const { addresses } = portTable(node)
    const missing = hostNetworks.find((name) => !addresses.has(name))
    return missing === undefined ? undefined : `missing host network ${JSON.stringify(missing)}`
  }
}

/** Every node has the network of its host, and none is what it can always give. */
function offers(node: PublicNode, mode: string): boolean {
  if (mode === 'host' || mode === 'none') return true
  const { Networks: networks, NodeNetworks: interfaces } = node.NodeResources
  return (
    (networks ?? []).some((network) => modeOf(network) === mode) ||
    (interfaces ?? []).some((network) => network.Mode === mode)
  )
}

function modeOf(network: NetworkResource): string {
  return network.Mode === '' ? 'host' : network.Mode
}
