import type { HostVolumeRecord, TaskGroup } from '@reeve/contract'
import { allocationIndex, isClientTerminal, type AllocationRow } from '../../model/index.ts'
import { jobVersionKey, type Tables } from '../../state/index.ts'

/** Live allocations that mount a dynamic host volume. */
export function mountingAllocations(
  { allocations, job_versions: versions }: Pick<Tables, 'allocations' | 'job_versions'>,
  volume: Pick<HostVolumeRecord, 'Namespace' | 'NodeID' | 'Name'>,
): readonly AllocationRow[] {
  return allocations.rowsByIndex('node', volume.NodeID).filter((row) => {
    if (row.Namespace !== volume.Namespace || isClientTerminal(row)) return false
    const job = versions.find(jobVersionKey(row.Namespace, row.JobID, row.JobVersion))
    const group = job?.TaskGroups.find(({ Name }) => Name === row.TaskGroup)
    return group !== undefined && mountsVolume(group, row, volume.Name)
  })
}

function mountsVolume({ Volumes }: TaskGroup, row: AllocationRow, name: string): boolean {
  return Object.values(Volumes ?? {}).some(({ Type, Source, PerAlloc }) => {
    if (Type !== 'host') return false
    return name === (PerAlloc ? `${Source}[${allocationIndex(row.Name)}]` : Source)
  })
}
