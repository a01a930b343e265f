import type { HostVolumeRecord, Job, TaskGroup, VolumeRequest } from '@reeve/contract'
import { isClientTerminal, type AllocationRow, type PublicNode } from '../../model/index.ts'
import type { ProposedState } from '../proposed.ts'
import type { PlacementView } from '../view.ts'
import type { DistinctConstraint } from './distinct.ts'
import { hostVolumeOf } from './volume-check.ts'

interface SingleWriterOptions {
  readonly job: Job
  readonly group: TaskGroup
  readonly proposed: ProposedState
  readonly view: Pick<PlacementView, 'allocationsOn' | 'findHostVolume' | 'jobVersionOf'>
}

const EXCLUSIVE = 'single-node-single-writer'

/** Enforces single-writer access: one writer excludes all others from the volume. */
export function singleWriterConstraints(
  context: SingleWriterOptions,
): readonly DistinctConstraint[] {
  const { group } = context
  const sources = new Set(writtenVolumes(group).map(({ Source }) => Source))
  return [...sources].map((source) => {
    const problem = `host volume "${source}" is in use by another writer`
    return {
      rule: 'volume',
      level: 'group',
      constraint: null,
      check: (node) => (hasConflict(node, source, context) ? problem : undefined),
      describeNode: () => source,
      takeChangedValues: () => [],
    }
  })
}

function hasConflict(
  node: PublicNode,
  source: string,
  { job, group, proposed, view }: SingleWriterOptions,
): boolean {
  // Configured volumes have no writer limit.
  const id = hostVolumeOf(node, source)?.ID ?? ''
  if (id === '' || !mayBeExclusive(view.findHostVolume(job.Namespace, id))) return false
  const isExclusive = writes(group, source, EXCLUSIVE)
  const excludes = (other: TaskGroup): boolean =>
    isExclusive ? writes(other, source) : writes(other, source, EXCLUSIVE)
  const excludedGroups = job.TaskGroups.filter(excludes)
  if (excludedGroups.some(({ Name }) => proposed.countOn(node.ID, Name) > 0)) return true
  return view.allocationsOn(node.ID).some((row) => {
    if (belongsToJob(row, job) || isClientTerminal(row) || proposed.isEvicted(row)) return false
    const groups = view.jobVersionOf(row)?.TaskGroups ?? []
    return groups.some((other) => other.Name === row.TaskGroup && excludes(other))
  })
}

/** True if a capability of the volume allows exclusive writers. */
function mayBeExclusive(volume: HostVolumeRecord | undefined): boolean {
  const capabilities = volume?.RequestedCapabilities ?? []
  return capabilities.some(({ AccessMode }) => AccessMode === EXCLUSIVE)
}

/** True for allocations of the same job; these are counted in the proposed state. */
function belongsToJob(row: AllocationRow, job: Job): boolean {
  return row.Namespace === job.Namespace && row.JobID === job.ID
}

function writes(group: TaskGroup, source: string, accessMode?: string): boolean {
  return writtenVolumes(group).some(
    (volume) =>
      volume.Source === source && (accessMode === undefined || volume.AccessMode === accessMode),
  )
}

/** Host volumes that the group writes; per-allocation volumes have a single writer anyway. */
function writtenVolumes({ Volumes }: TaskGroup): readonly VolumeRequest[] {
  return Object.values(Volumes ?? {}).filter(
    ({ Type, ReadOnly, PerAlloc }) => Type === 'host' && !ReadOnly && !PerAlloc,
  )
}
