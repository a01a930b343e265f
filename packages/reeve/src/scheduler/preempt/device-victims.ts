import type { NodeDevice } from '@reeve/contract'
import { deviceKey, type NodeUsage, type PublicNode } from '../../model/index.ts'
import { freeInstances, type DeviceAsk } from '../rank/devices.ts'
import type { GroupAsk } from '../rank/group-ask.ts'
import type { Victim } from './victim.ts'

export interface DeviceVictimOptions {
  readonly node: PublicNode
  readonly ask: GroupAsk
  /** The least important first. */
  readonly available: readonly Victim[]
}

interface Option {
  readonly victims: readonly Victim[]
  readonly ids: readonly string[]
  readonly device: NodeDevice
}

/**
 * For each ask the kind of device whose holders matter least, by the sum of their distinct
 * priorities; of a kind, holders go from the least important up until enough instances are free.
 * Undefined when no kind can have enough.
 */
export function deviceVictims(
  { node, ask, available }: DeviceVictimOptions,
  usage: NodeUsage,
): readonly Victim[] | undefined {
  const victims = new Set<Victim>()
  const taken = new Set<string>()
  for (const device of ask.devices) {
    const isTaken = (key: string): boolean =>
      taken.has(key) || (usage.devices.has(key) && !isFreedBy(victims, key))
    const option = bestOption(device, node, { available, isTaken })
    if (option === undefined) return undefined
    for (const victim of option.victims) victims.add(victim)
    for (const id of option.ids) taken.add(deviceKey(option.device, id))
  }
  return [...victims]
}

interface Standing {
  readonly available: readonly Victim[]
  readonly isTaken: (key: string) => boolean
}

function bestOption(ask: DeviceAsk, node: PublicNode, standing: Standing): Option | undefined {
  let best: Option | undefined
  for (const device of node.NodeResources.Devices ?? []) {
    if (!ask.accepts(device)) continue
    const option = optionFor(ask.request.Count, device, standing)
    if (option === undefined) continue
    if (best === undefined || costOf(option) < costOf(best)) best = option
  }
  return best
}

function optionFor(
  count: number,
  device: NodeDevice,
  { available, isTaken }: Standing,
): Option | undefined {
  const victims: Victim[] = []
  const free = (): readonly string[] =>
    freeInstances(device, (key) => isTaken(key) && !isFreedBy(victims, key))
  let ids = free()
  for (const victim of available) {
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

function costOf({ victims }: Option): number {
  return [...new Set(victims.map(({ priority }) => priority))].reduce((sum, one) => sum + one, 0)
}
