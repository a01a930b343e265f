import type { TaskGroup } from '@reeve/contract'
import { allocationName, type AllocationRow, type PublicNode } from '../model/index.ts'

interface StickyVolumesOptions {
  /** All allocations with the ID of the job, including terminal ones. */
  readonly rows: readonly AllocationRow[]
  findNode(id: string): PublicNode | undefined
}

/**
 * Finds the nodes of sticky volumes: a host volume with `sticky` binds each allocation name to the
 * node of its first placement, until that node is removed from the cluster.
 */
export class StickyVolumes {
  readonly #options: StickyVolumesOptions
  /** Newest allocation by name; built on first use. */
  #latestByName: ReadonlyMap<string, AllocationRow> | undefined

  constructor(options: StickyVolumesOptions) {
    this.#options = options
  }

  /** The only allowed node for a name index; undefined: any. */
  nodeFor(group: TaskGroup, jobId: string, index: number): string | undefined {
    if (!hasStickyVolume(group)) return undefined
    this.#latestByName ??= latestByName(this.#options.rows)
    const row = this.#latestByName.get(allocationName(jobId, group.Name, index))
    return row === undefined || this.#options.findNode(row.NodeID) === undefined
      ? undefined
      : row.NodeID
  }
}

export function hasStickyVolume({ Volumes: volumes }: TaskGroup): boolean {
  return Object.values(volumes ?? {}).some(({ Sticky, Type }) => Sticky && Type === 'host')
}

function latestByName(rows: readonly AllocationRow[]): ReadonlyMap<string, AllocationRow> {
  const latest = new Map<string, AllocationRow>()
  for (const row of rows) {
    const latestRow = latest.get(row.Name)
    if (latestRow === undefined || latestRow.CreateIndex <= row.CreateIndex)
      latest.set(row.Name, row)
  }
  return latest
}
