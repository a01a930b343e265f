import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  isServerTerminal,
  NO_USAGE,
  type AllocationRow,
  type NodeRow,
  type NodeUsage,
} from '../../src/model/index.ts'
import { Violation } from '../trace.ts'
import type { Changes, Model } from './model.ts'

/**
 * Invariant: no node is over-committed. Checked when an allocation is placed: existing allocations
 * plus new ones must fit. Allocations that the same commit stops do not count, because the agent
 * starts the replacement only after they have stopped.
 */
export function checkRoom(model: Model, changes: Changes): void {
  const nodes = new Set(
    changes.allocations.flatMap(({ before, after }) =>
      before === undefined && after !== undefined ? [after.NodeID] : [],
    ),
  )
  const leaving = new Set(
    changes.allocations.flatMap(({ key, before, after }) =>
      before !== undefined && after !== undefined && leaves(before, after) ? [key] : [],
    ),
  )
  for (const id of nodes) {
    const node = model.nodes.find(id)
    if (node === undefined) continue
    const rows = model.allocations
      .in(`node ${id}`)
      .filter((row) => !isClientTerminal(row) && !leaving.has(row.ID))
    const placed = rows.filter((row) => row.CreateIndex === changes.index)
    const short = shortOf(node, { all: usageOf(rows), placed: usageOf(placed) })
    if (short !== undefined)
      throw new Violation(
        'no node is over-committed',
        `${node.Name}: ${short}; ${rows.map((row) => `${row.Name} ${row.ID}`).join()}`,
      )
  }
}

function leaves(before: AllocationRow, after: AllocationRow): boolean {
  return isServerTerminal(after) && !isServerTerminal(before)
}

function usageOf(rows: readonly AllocationRow[]): NodeUsage {
  return rows.reduce((sum, row) => addToUsage(sum, chargeOf(row.AllocatedResources)), NO_USAGE)
}

interface Held {
  readonly all: NodeUsage
  /**
   * The part that the commit placed: existing allocations may share a resource while one of them
   * stops.
   */
  readonly placed: NodeUsage
}

function shortOf(
  { NodeResources: has, ReservedResources: kept }: NodeRow,
  { all: usage, placed }: Held,
): string | undefined {
  const cpu = has.Cpu.CpuShares - (kept?.Cpu.CpuShares ?? 0)
  if (usage.cpuShares > cpu) return `cpu ${usage.cpuShares} of ${cpu}`
  const memory = has.Memory.MemoryMB - (kept?.Memory.MemoryMB ?? 0)
  if (usage.memoryMB > memory) return `memory ${usage.memoryMB} of ${memory}`
  const disk = has.Disk.DiskMB - (kept?.Disk.DiskMB ?? 0)
  if (usage.diskMB > disk) return `disk ${usage.diskMB} of ${disk}`
  return (
    sharedThing('core', usage.cores, placed.cores) ??
    sharedThing('port', usage.ports, placed.ports) ??
    sharedThing('device', usage.devices, placed.devices)
  )
}

function sharedThing<T>(
  what: string,
  held: ReadonlyMap<T, number>,
  placed: ReadonlyMap<T, number>,
): string | undefined {
  const twice = [...placed.keys()].find((thing) => (held.get(thing) ?? 0) > 1)
  return twice === undefined ? undefined : `${what} ${String(twice)} held ${held.get(twice)} times`
}
