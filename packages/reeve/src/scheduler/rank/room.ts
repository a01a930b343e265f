import type { PlacementRule } from '@reeve/contract'
import type { NodeUsage, PublicNode } from '../../model/index.ts'
import { assignDevices } from './devices.ts'
import { capacityOf, demandOnNode, freeCores, type GroupRequirements } from './group-ask.ts'
import { portConflict, nodePorts } from './ports.ts'

/** A resource dimension that is exhausted on a node. */
export interface ResourceShortage {
  readonly rule: PlacementRule
  /** Label under which exhausted nodes are counted. */
  readonly dimension: string
  readonly unit: string
  readonly required: number
  readonly free: number
  readonly capacity: number
}

/** Returns the first exhausted dimension; undefined if the requirements fit. */
export function exhaustedDimension(
  node: PublicNode,
  requirements: GroupRequirements,
  usage: NodeUsage,
): string | undefined {
  return (
    exhaustedCores(node, requirements, usage) ??
    amountShortages(node, requirements, usage)[0]?.dimension ??
    exhaustedDiscrete(node, requirements, usage)
  )
}

/** Returns all exhausted dimensions. */
export function exhaustedDimensions(
  node: PublicNode,
  requirements: GroupRequirements,
  usage: NodeUsage,
): readonly ResourceShortage[] {
  return [
    ...coreShortages(node, requirements, usage),
    ...amountShortages(node, requirements, usage),
    ...portShortages(node, requirements, usage),
    ...deviceShortages(node, requirements, usage),
  ]
}

/** CPU, memory and disk. */
function amountShortages(
  node: PublicNode,
  requirements: GroupRequirements,
  usage: NodeUsage,
): readonly ResourceShortage[] {
  const capacity = capacityOf(node)
  const demand = demandOnNode(requirements, capacity)
  const amounts = [
    { rule: 'cpu', unit: 'MHz', asked: demand.cpuShares, used: usage.cpuShares },
    { rule: 'memory', unit: 'MB', asked: demand.memoryMB, used: usage.memoryMB },
    { rule: 'disk', unit: 'MB', asked: requirements.diskMB, used: usage.diskMB },
  ] as const
  const total = { cpu: capacity.cpuShares, memory: capacity.memoryMB, disk: capacity.diskMB }
  return amounts
    .filter(({ rule, asked, used }) => used + asked > total[rule])
    .map(({ rule, unit, asked, used }) => ({
      rule,
      dimension: rule,
      unit,
      required: asked,
      free: total[rule] - used,
      capacity: total[rule],
    }))
}

/**
 * Returns `cores` if too few are free. Checked before CPU, because missing cores also lack CPU
 * shares.
 */
export function exhaustedCores(
  node: PublicNode,
  requirements: GroupRequirements,
  usage: NodeUsage,
): string | undefined {
  return coreShortages(node, requirements, usage)[0]?.dimension
}

/** Exhausted ports or devices. */
export function exhaustedDiscrete(
  node: PublicNode,
  requirements: GroupRequirements,
  usage: NodeUsage,
): string | undefined {
  const port =
    requirements.ports.length === 0
      ? undefined
      : portConflict(requirements.ports, nodePorts(node), usage)
  return port ?? deviceShortages(node, requirements, usage)[0]?.dimension
}

function coreShortages(
  node: PublicNode,
  requirements: GroupRequirements,
  usage: NodeUsage,
): readonly ResourceShortage[] {
  if (requirements.cores === 0) return []
  const capacity = capacityOf(node)
  const free = freeCores(capacity, usage.cores).length
  if (free >= requirements.cores) return []
  const counts = { required: requirements.cores, free, capacity: capacity.cores.length }
  return [{ rule: 'cores', dimension: 'cores', unit: '', ...counts }]
}

/** A missing port counts as 1 of 1. */
function portShortages(
  node: PublicNode,
  requirements: GroupRequirements,
  usage: NodeUsage,
): readonly ResourceShortage[] {
  if (requirements.ports.length === 0) return []
  const dimension = portConflict(requirements.ports, nodePorts(node), usage)
  if (dimension === undefined) return []
  return [{ rule: 'port', dimension, unit: '', required: 1, free: 0, capacity: 1 }]
}

function deviceShortages(
  node: PublicNode,
  requirements: GroupRequirements,
  usage: NodeUsage,
): readonly ResourceShortage[] {
  if (requirements.devices.length === 0) return []
  if (assignDevices(requirements.devices, node, usage.devices) !== undefined) return []
  const required = requirements.devices.reduce((sum, { request }) => sum + request.Count, 0)
  return [
    {
      rule: 'device',
      dimension: 'devices: no devices match request',
      unit: '',
      required,
      free: 0,
      capacity: required,
    },
  ]
}
