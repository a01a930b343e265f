import type { NodeDevice } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { portKey, type NodeUsage, type PublicNode, deviceKey } from '../../model/index.ts'
import { freeInstances, type DeviceRequirement } from '../resources/device-allocator.ts'
import {
  capacityOf,
  demandOnNode,
  exhaustedDimension,
  freeCores,
  type GroupRequirements,
} from '../resources/resource-fit.ts'
import { nodePorts } from '../resources/port-allocator.ts'
import { usageWithout, type Victim } from './victim.ts'

/** Cost of preempting more allocations of a group than its `migrate` block allows in parallel. */
const MAX_PARALLEL_PENALTY = 50

interface VictimOptions {
  readonly node: PublicNode
  readonly requirements: GroupRequirements
  /** Usage of the node in the proposed state. */
  readonly usage: NodeUsage
  /** Sorted by priority, lowest first. */
  readonly candidates: readonly Victim[]
  /** Number of allocations of a group that the plan already preempts. */
  readonly plannedOf: (group: string) => number
}

/**
 * Chooses the allocations to preempt so that the requirements fit: first holders of the ports,
 * cores and devices needed, then lowest priority first, closest to the missing amounts. Undefined
 * if preemption cannot free enough.
 */
export function chooseVictims(options: VictimOptions): readonly Victim[] | undefined {
  const { node, requirements, usage } = options
  if (options.candidates.length === 0) return undefined
  const chosen = new Set<Victim>()
  const portHolders = portVictims(options)
  if (portHolders === undefined) return undefined
  for (const victim of portHolders) chosen.add(victim)
  const remainingUsage = (): NodeUsage => usageWithout(usage, [...chosen])
  if (!addCoreVictims(options, chosen, remainingUsage)) return undefined
  const devices = deviceVictims(options, remainingUsage())
  if (devices === undefined) return undefined
  for (const victim of devices) chosen.add(victim)
  if (!addResourceVictims(options, chosen, remainingUsage)) return undefined
  if (exhaustedDimension(node, requirements, remainingUsage()) !== undefined) return undefined
  return removeUnneeded(options, [...chosen])
}

/** Holders of the required static ports; undefined if one of them cannot be preempted. */
function portVictims({
  node,
  requirements,
  usage,
  candidates,
}: VictimOptions): readonly Victim[] | undefined {
  const victims: Victim[] = []
  for (const port of requirements.ports) {
    if (!port.isStatic || port.IgnoreCollision) continue
    const address = nodePorts(node).addresses.get(port.HostNetwork)
    if (address === undefined) return undefined
    const key = portKey(address.address, port.Value)
    const holders = candidates.filter(({ charge }) => charge.ports.includes(key))
    if (holders.length < (usage.ports.get(key) ?? 0)) return undefined
    victims.push(...holders)
  }
  return victims
}

/** Adds holders of cores until enough are free; false if that is impossible. */
function addCoreVictims(
  { node, requirements, candidates }: VictimOptions,
  chosen: Set<Victim>,
  remainingUsage: () => NodeUsage,
): boolean {
  const capacity = capacityOf(node)
  const hasEnoughCores = (): boolean =>
    freeCores(capacity, remainingUsage().cores).length >= requirements.cores
  if (requirements.cores === 0 || hasEnoughCores()) return true
  for (const victim of candidates) {
    if (victim.charge.cores.length === 0) continue
    chosen.add(victim)
    if (hasEnoughCores()) return true
  }
  return false
}

interface Amounts {
  readonly cpuShares: number
  readonly memoryMB: number
  readonly diskMB: number
}

/** Adds victims for CPU, memory and disk; false if all of them together do not free enough. */
function addResourceVictims(
  options: VictimOptions,
  chosen: Set<Victim>,
  remainingUsage: () => NodeUsage,
): boolean {
  const remaining = options.candidates.filter((victim) => !chosen.has(victim))
  for (
    let need = missingAmounts(options, remainingUsage());
    isInsufficient(need);
    need = missingAmounts(options, remainingUsage())
  ) {
    const [first] = remaining
    if (first === undefined) return false
    const lowestPriority = remaining.filter(({ priority }) => priority === first.priority)
    const preemptedCountOf = (group: string): number =>
      options.plannedOf(group) + [...chosen].filter((victim) => victim.group === group).length
    const best = cheapestVictim(lowestPriority, need, preemptedCountOf)
    chosen.add(best)
    remaining.splice(remaining.indexOf(best), 1)
  }
  return true
}

function missingAmounts({ node, requirements }: VictimOptions, usage: NodeUsage): Amounts {
  const capacity = capacityOf(node)
  const demand = demandOnNode(requirements, capacity)
  return {
    cpuShares: usage.cpuShares + demand.cpuShares - capacity.cpuShares,
    memoryMB: usage.memoryMB + demand.memoryMB - capacity.memoryMB,
    diskMB: usage.diskMB + requirements.diskMB - capacity.diskMB,
  }
}

function isInsufficient({ cpuShares, memoryMB, diskMB }: Amounts): boolean {
  return cpuShares > 0 || memoryMB > 0 || diskMB > 0
}

function cheapestVictim(
  victims: readonly Victim[],
  need: Amounts,
  preemptedCountOf: (group: string) => number,
): Victim {
  const cost = ({ group, maxParallel, charge }: Victim): number => {
    const preemptedCount = preemptedCountOf(group)
    const excess =
      maxParallel > 0 && preemptedCount >= maxParallel ? preemptedCount + 1 - maxParallel : 0
    return distance(charge, need) + MAX_PARALLEL_PENALTY * excess
  }
  return victims
    .map((victim) => ({ victim, cost: cost(victim) }))
    .reduce((best, other) =>
      other.cost < best.cost ||
      (other.cost === best.cost && compareText(other.victim.row.ID, best.victim.row.ID) < 0)
        ? other
        : best,
    ).victim
}

/** Distance between the resources of a victim and the missing amounts, relative to the latter. */
function distance(released: Amounts, need: Amounts): number {
  const parts = [
    [released.cpuShares, need.cpuShares],
    [released.memoryMB, need.memoryMB],
    [released.diskMB, need.diskMB],
  ] as const
  return Math.sqrt(
    parts.reduce(
      (sum, [amount, missing]) => (missing <= 0 ? sum : sum + ((missing - amount) / missing) ** 2),
      0,
    ),
  )
}

/** Drops victims that later choices made unnecessary, furthest from the missing amounts first. */
function removeUnneeded(options: VictimOptions, chosen: readonly Victim[]): readonly Victim[] {
  const { node, requirements, usage } = options
  const need = missingAmounts(options, usage)
  const furthestFirst = chosen.toSorted(
    (a, b) =>
      distance(b.charge, need) - distance(a.charge, need) ||
      b.priority - a.priority ||
      compareText(a.row.ID, b.row.ID),
  )
  let kept: readonly Victim[] = furthestFirst
  for (const victim of furthestFirst) {
    const others = kept.filter((other) => other !== victim)
    if (exhaustedDimension(node, requirements, usageWithout(usage, others)) === undefined)
      kept = others
  }
  return kept.toSorted((a, b) => compareText(a.row.ID, b.row.ID))
}

interface DeviceVictimOptions {
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
function deviceVictims(
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
