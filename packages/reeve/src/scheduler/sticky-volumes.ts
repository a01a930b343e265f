import type { TaskGroup } from '@reeve/contract'
import { allocationName, type AllocationRow, type PublicNode } from '../model/index.ts'

interface StickyVolumesOptions {
  /** Every allocation of the job's ID, ended ones too. */
  readonly rows: readonly AllocationRow[]
  findNode(id: string): PublicNode | undefined
}

/**
 * Where the volumes are that allocations of a job must have again: a volume of the host with
 * `sticky` binds each instance of its group to the node that it was first placed on, until that
 * node is removed from the cluster.
 */
export class StickyVolumes {
  readonly #options: StickyVolumesOptions
  /** The newest allocation of each name; made when the first group asks. */
  #latest: ReadonlyMap<string, AllocationRow> | undefined

  constructor(options: StickyVolumesOptions) {
    this.#options = options
  }

  /** The only node that will do for an instance; undefined: any. */
  nodeFor(group: TaskGroup, jobId: string, index: number): string | undefined {
    if (!hasStickyVolume(group)) return undefined
    this.#latest ??= latestByName(this.#options.rows)
    const row = this.#latest.get(allocationName(jobId, group.Name, index))
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
    const known = latest.get(row.Name)
    if (known === undefined || known.CreateIndex <= row.CreateIndex) latest.set(row.Name, row)
  }
  return latest
}
