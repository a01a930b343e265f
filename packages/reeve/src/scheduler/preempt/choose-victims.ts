import { compareText } from '@reeve/kit/sorted-list.ts'
import { portKey, type NodeUsage, type PublicNode } from '../../model/index.ts'
import { capacityOf, demandOn, freeCores, type GroupAsk } from '../rank/group-ask.ts'
import { portTable } from '../rank/ports.ts'
import { missingOn } from '../rank/room.ts'
import { deviceVictims } from './device-victims.ts'
import { usageWithout, type Victim } from './victim.ts'

/** What it costs to take more of a group than it lets go at once. */
const CROWD_PENALTY = 50

export interface VictimOptions {
  readonly node: PublicNode
  readonly ask: GroupAsk
  /** What is used of the node in the plan so far. */
  readonly usage: NodeUsage
  /** The least important first. */
  readonly available: readonly Victim[]
  /** How many of a group the plan displaces already. */
  readonly plannedOf: (group: string) => number
}

/**
 * Who has to go so that the ask fits: whoever holds what only one can hold, then whoever makes the
 * room, the least important first and of those the ones whose room is closest to what is missing.
 * Undefined when nobody's going is enough.
 */
export function chooseVictims(options: VictimOptions): readonly Victim[] | undefined {
  const { node, ask, usage } = options
  if (options.available.length === 0) return undefined
  const chosen = new Set<Victim>()
  const holders = portVictims(options)
  if (holders === undefined) return undefined
  for (const victim of holders) chosen.add(victim)
  const left = (): NodeUsage => usageWithout(usage, [...chosen])
  if (!addCoreVictims(options, chosen, left)) return undefined
  const devices = deviceVictims(options, left())
  if (devices === undefined) return undefined
  for (const victim of devices) chosen.add(victim)
  if (!addRoomVictims(options, chosen, left)) return undefined
  if (missingOn(node, ask, left()) !== undefined) return undefined
  return withoutUnneeded(options, [...chosen])
}

/** Everyone who holds a static port that is asked for; undefined when one of them may stay. */
function portVictims({
  node,
  ask,
  usage,
  available,
}: VictimOptions): readonly Victim[] | undefined {
  const victims: Victim[] = []
  for (const port of ask.ports) {
    if (!port.isStatic || port.IgnoreCollision) continue
    const address = portTable(node).addresses.get(port.HostNetwork)
    if (address === undefined) return undefined
    const key = portKey(address.address, port.Value)
    const holders = available.filter(({ charge }) => charge.ports.includes(key))
    if (holders.length < (usage.ports.get(key) ?? 0)) return undefined
    victims.push(...holders)
  }
  return victims
}

/** Whoever holds cores, until enough are free; false when that is never. */
function addCoreVictims(
  { node, ask, available }: VictimOptions,
  chosen: Set<Victim>,
  left: () => NodeUsage,
): boolean {
  const capacity = capacityOf(node)
  const enough = (): boolean => freeCores(capacity, left().cores).length >= ask.cores
  if (ask.cores === 0 || enough()) return true
  for (const victim of available) {
    if (victim.charge.cores.length === 0) continue
    chosen.add(victim)
    if (enough()) return true
  }
  return false
}

interface Amounts {
  readonly cpuShares: number
  readonly memoryMB: number
  readonly diskMB: number
}

/** Whoever makes room for processor, memory and disk; false when all together do not. */
function addRoomVictims(
  options: VictimOptions,
  chosen: Set<Victim>,
  left: () => NodeUsage,
): boolean {
  const waiting = options.available.filter((victim) => !chosen.has(victim))
  for (let need = needed(options, left()); isShort(need); need = needed(options, left())) {
    const [first] = waiting
    if (first === undefined) return false
    const rank = waiting.filter(({ priority }) => priority === first.priority)
    const goneOf = (group: string): number =>
      options.plannedOf(group) + [...chosen].filter((victim) => victim.group === group).length
    const best = closest(rank, need, goneOf)
    chosen.add(best)
    waiting.splice(waiting.indexOf(best), 1)
  }
  return true
}

function needed({ node, ask }: VictimOptions, usage: NodeUsage): Amounts {
  const capacity = capacityOf(node)
  const demand = demandOn(ask, capacity)
  return {
    cpuShares: usage.cpuShares + demand.cpuShares - capacity.cpuShares,
    memoryMB: usage.memoryMB + demand.memoryMB - capacity.memoryMB,
    diskMB: usage.diskMB + ask.diskMB - capacity.diskMB,
  }
}

function isShort({ cpuShares, memoryMB, diskMB }: Amounts): boolean {
  return cpuShares > 0 || memoryMB > 0 || diskMB > 0
}

function closest(
  rank: readonly Victim[],
  need: Amounts,
  goneOf: (group: string) => number,
): Victim {
  const cost = ({ group, parallelMax, charge }: Victim): number => {
    const gone = goneOf(group)
    const crowd = parallelMax > 0 && gone >= parallelMax ? gone + 1 - parallelMax : 0
    return distance(charge, need) + CROWD_PENALTY * crowd
  }
  return rank
    .map((victim) => ({ victim, cost: cost(victim) }))
    .reduce((best, other) =>
      other.cost < best.cost ||
      (other.cost === best.cost && compareText(other.victim.row.ID, best.victim.row.ID) < 0)
        ? other
        : best,
    ).victim
}

/** How far what an allocation holds is from what is missing, each as a share of the latter. */
function distance(held: Amounts, need: Amounts): number {
  const parts = [
    [held.cpuShares, need.cpuShares],
    [held.memoryMB, need.memoryMB],
    [held.diskMB, need.diskMB],
  ] as const
  return Math.sqrt(
    parts.reduce((sum, [has, wants]) => (wants <= 0 ? sum : sum + ((wants - has) / wants) ** 2), 0),
  )
}

/** Whoever was taken early may turn out not to be needed; the furthest from the need goes free. */
function withoutUnneeded(options: VictimOptions, chosen: readonly Victim[]): readonly Victim[] {
  const { node, ask, usage } = options
  const need = needed(options, usage)
  const furthestFirst = chosen.toSorted(
    (a, b) =>
      distance(b.charge, need) - distance(a.charge, need) ||
      b.priority - a.priority ||
      compareText(a.row.ID, b.row.ID),
  )
  let kept: readonly Victim[] = furthestFirst
  for (const victim of furthestFirst) {
    const others = kept.filter((other) => other !== victim)
    if (missingOn(node, ask, usageWithout(usage, others)) === undefined) kept = others
  }
  return kept.toSorted((a, b) => compareText(a.row.ID, b.row.ID))
}
