import type { TaskGroup } from '@reeve/contract'
import { peakDemand, type PublicNode, type TaskDemand } from '../../model/index.ts'
import type { PlacementSettings } from '../view.ts'
import { deviceAsks, type DeviceAsk } from './devices.ts'
import { portsOf, type PortAsk } from './port-ask.ts'

/** What one allocation of a group needs of a node. */
export interface GroupAsk {
  readonly tasks: readonly TaskAsk[]
  readonly diskMB: number
  readonly cores: number
  readonly ports: readonly PortAsk[]
  readonly devices: readonly DeviceAsk[]
  /** The charge on nodes whose cores do not matter; the usual case. */
  readonly fixed: Demand | undefined
}

export interface Demand {
  readonly cpuShares: number
  readonly memoryMB: number
}

export interface TaskAsk extends TaskDemand {
  readonly name: string
  readonly cores: number
  readonly memoryMaxMB: number
}

export function groupAsk(group: TaskGroup, settings: PlacementSettings): GroupAsk {
  const tasks = group.Tasks.map((task) => {
    const { CPU, Cores, MemoryMB, MemoryMaxMB, SecretsMB } = task.Resources
    return {
      name: task.Name,
      lifecycle: task.Lifecycle,
      cpuShares: CPU,
      cores: Cores,
      pinned: Cores > 0,
      // The directory of secrets is held in memory.
      memoryMB: MemoryMB + SecretsMB,
      memoryMaxMB: settings.memoryOversubscription ? MemoryMaxMB : 0,
    }
  })
  const cores = tasks.reduce((sum, task) => sum + task.cores, 0)
  return {
    tasks,
    diskMB: group.EphemeralDisk.SizeMB,
    cores,
    ports: portsOf(group),
    devices: deviceAsks(group),
    fixed: cores === 0 ? peakDemand(tasks) : undefined,
  }
}

/**
 * Whether it needs particular things of a node: this core, that port. Otherwise every allocation of
 * the group is given the same.
 */
export function isParticular({ cores, ports, devices }: GroupAsk): boolean {
  return cores > 0 || ports.length > 0 || devices.length > 0
}

/** What a node has for allocations, without what it keeps for itself. */
export interface NodeCapacity {
  readonly cpuShares: number
  readonly memoryMB: number
  readonly diskMB: number
  /** Cores that can belong to one allocation alone, ascending. */
  readonly cores: readonly number[]
  /** What one core is worth in shares. */
  readonly sharesPerCore: number
}

/** Rows never change, so what was read from one holds as long as the row does. */
const capacities = new WeakMap<PublicNode, NodeCapacity>()

export function capacityOf(node: PublicNode): NodeCapacity {
  const known = capacities.get(node)
  if (known !== undefined) return known
  const capacity = readCapacity(node)
  capacities.set(node, capacity)
  return capacity
}

function readCapacity({ NodeResources, ReservedResources }: PublicNode): NodeCapacity {
  const { CpuShares, TotalCpuCores, ReservableCpuCores } = NodeResources.Cpu
  const kept = new Set(ReservedResources.Cpu.ReservedCpuCores ?? [])
  return {
    cpuShares: CpuShares - ReservedResources.Cpu.CpuShares,
    memoryMB: NodeResources.Memory.MemoryMB - ReservedResources.Memory.MemoryMB,
    diskMB: NodeResources.Disk.DiskMB - ReservedResources.Disk.DiskMB,
    cores: (ReservableCpuCores ?? []).filter((core) => !kept.has(core)).toSorted((a, b) => a - b),
    sharesPerCore: TotalCpuCores > 0 ? Math.floor(CpuShares / TotalCpuCores) : 0,
  }
}

/** Shares of a task on a node: those it asks for, or those of the cores it gets. */
export function sharesOf(task: TaskAsk, capacity: NodeCapacity): number {
  return task.cores > 0 ? task.cores * capacity.sharesPerCore : task.cpuShares
}

export function demandOn(ask: GroupAsk, capacity: NodeCapacity): Demand {
  if (ask.fixed !== undefined) return ask.fixed
  return peakDemand(ask.tasks.map((task) => ({ ...task, cpuShares: sharesOf(task, capacity) })))
}

/** Cores that nobody has, lowest first. */
export function freeCores(
  capacity: NodeCapacity,
  held: { has(core: number): boolean },
): readonly number[] {
  return capacity.cores.filter((core) => !held.has(core))
}
