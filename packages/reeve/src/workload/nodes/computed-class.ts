import type { NodeRegistration } from '@reeve/contract'
import { blake2b256 } from '@reeve/kit/hash.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'

/**
 * Prefix of attributes and meta that are unique per node and would make every node its own class.
 */
const UNIQUE_NAME_PREFIX = 'unique.'

/**
 * Hash of the properties relevant for scheduling. Nodes of one class are interchangeable for the
 * scheduler, so a node rejected by a constraint need not be checked again for the others.
 */
export function computedClass(node: NodeRegistration): string {
  const sharedEntries = (map: Readonly<Record<string, string>> | null): [string, string][] =>
    Object.entries(map ?? {})
      .filter(([name]) => !name.startsWith(UNIQUE_NAME_PREFIX))
      .toSorted(([a], [b]) => compareText(a, b))
  const drivers = Object.entries(node.Drivers)
    .filter(([, driver]) => driver.Detected && driver.Healthy)
    .map(([name]) => name)
    .toSorted(compareText)
  const devices = (node.NodeResources.Devices ?? []).map((device) => [
    device.Vendor,
    device.Type,
    device.Name,
  ])
  const fields = [
    node.Datacenter,
    node.NodePool,
    node.NodeClass,
    sharedEntries(node.Attributes),
    sharedEntries(node.Meta),
    drivers,
    devices,
  ]
  return `v1:${blake2b256(JSON.stringify(fields)).slice(0, 22)}`
}
