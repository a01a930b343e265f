import type { TaskGroup } from '@reeve/contract'
import { peakDemand, type PublicNode, type TaskDemand } from '../../model/index.ts'
import type { PlacementSettings } from '../view.ts'
import { portsOf, type PortAsk } from './port-ask.ts'

/** What one allocation of a group needs of a node. */
export interface GroupAsk {
  readonly tasks: readonly TaskAsk[]
  readonly diskMB: number
  readonly cores: number
  readonly ports: readonly PortAsk[]
  /** The charge on nodes whose cores do not matter; the usual case. */
  readonly fixed: { readonly cpuShares: number; readonly memoryMB: number } | undefined
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
      // The directory of secrets is held in memory (scheduling reference §9.4).
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
    fixed: cores === 0 ? peakDemand(tasks) : undefined,
  }
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

export function capacityOf({ NodeResources, ReservedResources }: PublicNode): NodeCapacity {
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

export function demandOn(
  ask: GroupAsk,
  capacity: NodeCapacity,
): { readonly cpuShares: number; readonly memoryMB: number } {
  if (ask.fixed !== undefined) return ask.fixed
  return peakDemand(ask.tasks.map((task) => ({ ...task, cpuShares: sharesOf(task, capacity) })))
}

/** Cores that nobody has, lowest first. */
export function freeCores(capacity: NodeCapacity, held: ReadonlySet<number>): readonly number[] {
  return capacity.cores.filter((core) => !held.has(core))
}
