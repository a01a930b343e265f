import type { TaskGroup } from '@reeve/contract'
import { peakDemand, type PublicNode, type TaskDemand } from '../../model/index.ts'
import type { PlacementSettings } from '../view.ts'
import { deviceRequirements, type DeviceRequirement } from './devices.ts'
import { portRequests, type PortRequest } from './port-ask.ts'

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

export interface ResourceDemand {
  readonly cpuShares: number
  readonly memoryMB: number
}

export interface TaskRequirements extends TaskDemand {
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
export interface NodeCapacity {
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
