import type { NetworkResource, TaskGroup } from '@reeve/contract'
import type { PublicNode } from '../../model/index.ts'
import { portRequests } from '../rank/port-ask.ts'
import { nodePorts } from '../rank/ports.ts'

/**
 * Checks that the node offers the network mode and the host network of each port. Undefined if the
 * group requires neither.
 */
export function networkCheck(
  group: TaskGroup,
): ((node: PublicNode) => string | undefined) | undefined {
  const network = group.Networks?.[0]
  const ports = portRequests(group)
  if (network === undefined && ports.length === 0) return undefined
  const mode = network === undefined ? 'host' : modeOf(network)
  const hostNetworks = [...new Set(ports.map((port) => port.HostNetwork))]
  const drivers = MODES_OF_EVERY_NODE.has(mode) ? [] : driversInNetwork(group)
  return (node) => {
    if (!offersNetworkMode(node, mode)) return 'missing network'
    const driverWithoutNetwork = drivers.find(
      (name) => node.Attributes[networkAttribute(name)] === 'none',
    )
    if (driverWithoutNetwork !== undefined)
      return `missing network for driver ${driverWithoutNetwork}`
    if (hostNetworks.length === 0) return undefined
    const { addresses } = nodePorts(node)
    const missing = hostNetworks.find((name) => !addresses.has(name))
    return missing === undefined ? undefined : `missing host network ${JSON.stringify(missing)}`
  }
}

/** Network mode of the group; empty for modes that every node offers. */
export function isolatedMode({ Networks }: TaskGroup): string {
  const mode = Networks?.[0]?.Mode ?? ''
  return MODES_OF_EVERY_NODE.has(mode) ? '' : mode
}

/** Node attribute that tells whether tasks of a driver can join the network of their allocation. */
const networkAttribute = (driver: string): string => `driver.${driver}.allocation_network`

/** Drivers of the tasks that do not set `network_mode`. */
function driversInNetwork({ Tasks }: TaskGroup): readonly string[] {
  const tasks = (Tasks ?? []).filter(({ Config }) => (Config?.['network_mode'] ?? '') === '')
  return [...new Set(tasks.map(({ Driver }) => Driver))]
}

/** Every node supports `host` and `none`. */
const MODES_OF_EVERY_NODE: ReadonlySet<string> = new Set(['host', 'none'])

function offersNetworkMode(node: PublicNode, mode: string): boolean {
  if (MODES_OF_EVERY_NODE.has(mode)) return true
  const { Networks: networks, NodeNetworks: interfaces } = node.NodeResources
  return (
    (networks ?? []).some((network) => modeOf(network) === mode) ||
    (interfaces ?? []).some((network) => network.Mode === mode)
  )
}

function modeOf(network: NetworkResource): string {
  return network.Mode === '' ? 'host' : network.Mode
}
