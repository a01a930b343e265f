import type { PlacementRule, TaskGroup } from '@reeve/contract'
import { type NodeUsage, peakDemand, type PublicNode, type TaskDemand } from '../../model/index.ts'
import type { PlacementSettings } from '../cluster-view.ts'
import { deviceRequirements, type DeviceRequirement, assignDevices } from './device-allocator.ts'
import { portRequests, type PortRequest, portConflict, nodePorts } from './port-allocator.ts'

/** Resource requirements of one allocation of a group. */
export interface GroupRequirements {
  readonly tasks: readonly TaskRequirements[]
  readonly diskMB: number
  readonly cores: number
  readonly ports: readonly PortRequest[]
  readonly devices: readonly DeviceRequirement[]
  /** Demand that is the same on every node; undefined if the group reserves cores. */
  readonly nodeIndependentDemand: ResourceDemand | undefined
}

interface ResourceDemand {
  readonly cpuShares: number
  readonly memoryMB: number
}

interface TaskRequirements extends TaskDemand {
  readonly name: string
  readonly cores: number
  readonly memoryMaxMB: number
}

export function groupRequirements(
  group: TaskGroup,
  settings: PlacementSettings,
): GroupRequirements {
  const tasks = group.Tasks.map((task) => {
    const { CPU, Cores, MemoryMB, MemoryMaxMB, SecretsMB } = task.Resources
    return {
      name: task.Name,
      lifecycle: task.Lifecycle,
      cpuShares: CPU,
      cores: Cores,
      hasReservedCores: Cores > 0,
      // The secrets directory is in memory (tmpfs).
      memoryMB: MemoryMB + SecretsMB,
      memoryMaxMB: settings.memoryOversubscription ? MemoryMaxMB : 0,
    }
  })
  const cores = tasks.reduce((sum, task) => sum + task.cores, 0)
  return {
    tasks,
    diskMB: group.EphemeralDisk.SizeMB,
    cores,
    ports: portRequests(group),
    devices: deviceRequirements(group),
    nodeIndependentDemand: cores === 0 ? peakDemand(tasks) : undefined,
  }
}

/**
 * True if the group needs discrete resources (cores, ports, devices). Otherwise all its allocations
 * get the same resources.
 */
export function needsDiscreteResources({ cores, ports, devices }: GroupRequirements): boolean {
  return cores > 0 || ports.length > 0 || devices.length > 0
}

/** Capacity of a node for allocations, without its reserved resources. */
interface NodeCapacity {
  readonly cpuShares: number
  readonly memoryMB: number
  readonly diskMB: number
  /** Cores that can be reserved for a single allocation, ascending. */
  readonly cores: readonly number[]
  /** CPU shares per core. */
  readonly sharesPerCore: number
}

/** Cached per node row: rows are immutable. */
const capacityCache = new WeakMap<PublicNode, NodeCapacity>()

export function capacityOf(node: PublicNode): NodeCapacity {
  const cached = capacityCache.get(node)
  if (cached !== undefined) return cached
  const capacity = readCapacity(node)
  capacityCache.set(node, capacity)
  return capacity
}

function readCapacity({ NodeResources, ReservedResources }: PublicNode): NodeCapacity {
  const { CpuShares, TotalCpuCores, ReservableCpuCores } = NodeResources.Cpu
  const reservedCores = new Set(ReservedResources.Cpu.ReservedCpuCores ?? [])
  return {
    cpuShares: CpuShares - ReservedResources.Cpu.CpuShares,
    memoryMB: NodeResources.Memory.MemoryMB - ReservedResources.Memory.MemoryMB,
    diskMB: NodeResources.Disk.DiskMB - ReservedResources.Disk.DiskMB,
    cores: (ReservableCpuCores ?? [])
      .filter((core) => !reservedCores.has(core))
      .toSorted((a, b) => a - b),
    sharesPerCore: TotalCpuCores > 0 ? Math.floor(CpuShares / TotalCpuCores) : 0,
  }
}

/** CPU shares of a task on a node: the requested ones, or those of its reserved cores. */
export function cpuSharesOf(task: TaskRequirements, capacity: NodeCapacity): number {
  return task.cores > 0 ? task.cores * capacity.sharesPerCore : task.cpuShares
}

export function demandOnNode(
  requirements: GroupRequirements,
  capacity: NodeCapacity,
): ResourceDemand {
  if (requirements.nodeIndependentDemand !== undefined) return requirements.nodeIndependentDemand
  return peakDemand(
    requirements.tasks.map((task) => ({ ...task, cpuShares: cpuSharesOf(task, capacity) })),
  )
}

/** Cores that are not in use, lowest first. */
export function freeCores(
  capacity: NodeCapacity,
  inUse: { has(core: number): boolean },
): readonly number[] {
  return capacity.cores.filter((core) => !inUse.has(core))
}

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
