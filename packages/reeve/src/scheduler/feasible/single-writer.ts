import type { HostVolumeRecord, Job, TaskGroup, VolumeRequest } from '@reeve/contract'
import { isClientTerminal, type AllocationRow, type PublicNode } from '../../model/index.ts'
import type { Proposed } from '../proposed.ts'
import type { PlacementView } from '../view.ts'
import type { DistinctRule } from './distinct.ts'
import { volumeOn } from './volume-check.ts'

interface WriterContext {
  readonly job: Job
  readonly group: TaskGroup
  readonly proposed: Proposed
  readonly view: Pick<PlacementView, 'allocationsOn' | 'findHostVolume' | 'findJobOf'>
}

const EXCLUSIVE = 'single-node-single-writer'

/** Keeps other writers from a volume with an exclusive one, and exclusive ones from one in use. */
export function singleWriterRules(context: WriterContext): readonly DistinctRule[] {
  const { group } = context
  const sources = new Set(writtenVolumes(group).map(({ Source }) => Source))
  return [...sources].map((source) => {
    const text = `host volume "${source}" is in use by another writer`
    return {
      rule: 'volume',
      level: 'group',
      constraint: null,
      check: (node) => (hasConflict(node, source, context) ? text : undefined),
      found: () => source,
      flipped: () => [],
    }
  })
}

function hasConflict(
  node: PublicNode,
  source: string,
  { job, group, proposed, view }: WriterContext,
): boolean {
  // Configured volumes have no writer limit.
  const id = volumeOn(node, source)?.ID ?? ''
  if (id === '' || !mayBeExclusive(view.findHostVolume(job.Namespace, id))) return false
  const isExclusive = writes(group, source, EXCLUSIVE)
  const excludes = (other: TaskGroup): boolean =>
    isExclusive ? writes(other, source) : writes(other, source, EXCLUSIVE)
  const own = job.TaskGroups.filter(excludes)
  if (own.some(({ Name }) => proposed.countOn(node.ID, Name) > 0)) return true
  return view.allocationsOn(node.ID).some((row) => {
    if (isOf(row, job) || isClientTerminal(row) || proposed.isEvicted(row)) return false
    const groups = view.findJobOf(row)?.TaskGroups ?? []
    return groups.some((other) => other.Name === row.TaskGroup && excludes(other))
  })
}

/** Without the capability no allocation can be an exclusive writer. */
function mayBeExclusive(volume: HostVolumeRecord | undefined): boolean {
  const capabilities = volume?.RequestedCapabilities ?? []
  return capabilities.some(({ AccessMode }) => AccessMode === EXCLUSIVE)
}

/** Allocations of the same job are counted through the plan. */
function isOf(row: AllocationRow, job: Job): boolean {
  return row.Namespace === job.Namespace && row.JobID === job.ID
}

function writes(group: TaskGroup, source: string, accessMode?: string): boolean {
  return writtenVolumes(group).some(
    (volume) =>
      volume.Source === source && (accessMode === undefined || volume.AccessMode === accessMode),
  )
}

/** Volumes for each allocation of a group have one writer in any case. */
function writtenVolumes({ Volumes }: TaskGroup): readonly VolumeRequest[] {
  return Object.values(Volumes ?? {}).filter(
    ({ Type, ReadOnly, PerAlloc }) => Type === 'host' && !ReadOnly && !PerAlloc,
  )
}
