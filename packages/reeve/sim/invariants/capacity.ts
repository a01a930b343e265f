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
import type { Changes, ExpectedState } from './expected-state.ts'

/**
 * Invariant: no node is over-committed. Checked when an allocation is placed: existing allocations
 * plus new ones must fit. Allocations that the same commit stops do not count, because the agent
 * starts the replacement only after they have stopped.
 */
export function checkCapacity(model: ExpectedState, changes: Changes): void {
  const nodes = new Set(
    changes.allocations.flatMap(({ before, after }) =>
      before === undefined && after !== undefined ? [after.NodeID] : [],
    ),
  )
  const stopping = new Set(
    changes.allocations.flatMap(({ key, before, after }) =>
      before !== undefined && after !== undefined && isStopped(before, after) ? [key] : [],
    ),
  )
  for (const id of nodes) {
    const node = model.nodes.find(id)
    if (node === undefined) continue
    const rows = model.allocations
      .inGroup(`node ${id}`)
      .filter((row) => !isClientTerminal(row) && !stopping.has(row.ID))
    const placed = rows.filter((row) => row.CreateIndex === changes.index)
    const overcommitment = overcommitmentOf(node, { all: usageOf(rows), placed: usageOf(placed) })
    if (overcommitment !== undefined)
      throw new Violation(
        'no node is over-committed',
        `${node.Name}: ${overcommitment}; ${rows.map((row) => `${row.Name} ${row.ID}`).join()}`,
      )
  }
}

function isStopped(before: AllocationRow, after: AllocationRow): boolean {
  return isServerTerminal(after) && !isServerTerminal(before)
}

function usageOf(rows: readonly AllocationRow[]): NodeUsage {
  return rows.reduce((sum, row) => addToUsage(sum, chargeOf(row.AllocatedResources)), NO_USAGE)
}

interface PlacedUsage {
  readonly all: NodeUsage
  /**
   * The part that the commit placed: existing allocations may share a resource while one of them
   * stops.
   */
  readonly placed: NodeUsage
}

function overcommitmentOf(
  { NodeResources: total, ReservedResources: reserved }: NodeRow,
  { all: usage, placed }: PlacedUsage,
): string | undefined {
  const cpu = total.Cpu.CpuShares - (reserved?.Cpu.CpuShares ?? 0)
  if (usage.cpuShares > cpu) return `cpu ${usage.cpuShares} of ${cpu}`
  const memory = total.Memory.MemoryMB - (reserved?.Memory.MemoryMB ?? 0)
  if (usage.memoryMB > memory) return `memory ${usage.memoryMB} of ${memory}`
  const disk = total.Disk.DiskMB - (reserved?.Disk.DiskMB ?? 0)
  if (usage.diskMB > disk) return `disk ${usage.diskMB} of ${disk}`
  return (
    doublyHeld('core', usage.cores, placed.cores) ??
    doublyHeld('port', usage.ports, placed.ports) ??
    doublyHeld('device', usage.devices, placed.devices)
  )
}

function doublyHeld<T>(
  kind: string,
  holders: ReadonlyMap<T, number>,
  placed: ReadonlyMap<T, number>,
): string | undefined {
  const duplicate = [...placed.keys()].find((key) => (holders.get(key) ?? 0) > 1)
  return duplicate === undefined
    ? undefined
    : `${kind} ${String(duplicate)} held ${holders.get(duplicate)} times`
}
