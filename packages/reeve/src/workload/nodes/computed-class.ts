import type { NodeRegistration } from '@reeve/contract'
import { blake2b256 } from '@reeve/kit/hash.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'

/**
 * Attributes and meta whose name starts so differ on every node and would make every node its own
 * class.
 */
const UNIQUE_PREFIX = 'unique.'

/**
 * Nodes of one class are alike for the scheduler, so that what one of them refused need not be
 * asked of the others (reference: computed class).
 */
export function computedClass(node: NodeRegistration): string {
  const shared = (map: Readonly<Record<string, string>> | null): [string, string][] =>
    Object.entries(map ?? {})
      .filter(([name]) => !name.startsWith(UNIQUE_PREFIX))
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
  const facts = [
    node.Datacenter,
    node.NodePool,
    node.NodeClass,
    shared(node.Attributes),
    shared(node.Meta),
    drivers,
    devices,
  ]
  return `v1:${blake2b256(JSON.stringify(facts)).slice(0, 22)}`
}
