import type { NodeDevice } from '@reeve/contract'
import { deviceKey, type NodeUsage, type PublicNode } from '../../model/index.ts'
import { freeInstances, type DeviceRequirement } from '../resources/device-allocator.ts'
import type { GroupRequirements } from '../resources/resource-fit.ts'
import type { Victim } from './victim.ts'

export interface DeviceVictimOptions {
  readonly node: PublicNode
  readonly requirements: GroupRequirements
  /** Sorted by priority, lowest first. */
  readonly candidates: readonly Victim[]
}

interface DeviceOption {
  readonly victims: readonly Victim[]
  readonly ids: readonly string[]
  readonly device: NodeDevice
}

/**
 * Chooses victims for each device requirement: the device group with the lowest sum of distinct
 * priorities, and within it the lowest priorities until enough instances are free. Undefined if no
 * device group can provide enough.
 */
export function deviceVictims(
  { node, requirements, candidates }: DeviceVictimOptions,
  usage: NodeUsage,
): readonly Victim[] | undefined {
  const victims = new Set<Victim>()
  const taken = new Set<string>()
  for (const device of requirements.devices) {
    const isTaken = (key: string): boolean =>
      taken.has(key) || (usage.devices.has(key) && !isFreedBy(victims, key))
    const option = bestOption(device, node, { candidates, isTaken })
    if (option === undefined) return undefined
    for (const victim of option.victims) victims.add(victim)
    for (const id of option.ids) taken.add(deviceKey(option.device, id))
  }
  return [...victims]
}

interface DeviceSearch {
  readonly candidates: readonly Victim[]
  readonly isTaken: (key: string) => boolean
}

function bestOption(
  requirement: DeviceRequirement,
  node: PublicNode,
  search: DeviceSearch,
): DeviceOption | undefined {
  let best: DeviceOption | undefined
  for (const device of node.NodeResources.Devices ?? []) {
    if (!requirement.matches(device)) continue
    const option = optionFor(requirement.request.Count, device, search)
    if (option === undefined) continue
    if (best === undefined || costOf(option) < costOf(best)) best = option
  }
  return best
}

function optionFor(
  count: number,
  device: NodeDevice,
  { candidates, isTaken }: DeviceSearch,
): DeviceOption | undefined {
  const victims: Victim[] = []
  const free = (): readonly string[] =>
    freeInstances(device, (key) => isTaken(key) && !isFreedBy(victims, key))
  let ids = free()
  for (const victim of candidates) {
    if (ids.length >= count) break
    const holds = device.Instances.some(({ ID: id }) =>
      victim.charge.devices.includes(deviceKey(device, id)),
    )
    if (!holds) continue
    victims.push(victim)
    ids = free()
  }
  return ids.length < count ? undefined : { victims, ids: ids.slice(0, count), device }
}

function isFreedBy(victims: Iterable<Victim>, key: string): boolean {
  for (const { charge } of victims) if (charge.devices.includes(key)) return true
  return false
}

function costOf({ victims }: DeviceOption): number {
  return [...new Set(victims.map(({ priority }) => priority))].reduce((sum, one) => sum + one, 0)
}
