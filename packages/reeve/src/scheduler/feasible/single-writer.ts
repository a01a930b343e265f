import type { Job, TaskGroup } from '@reeve/contract'
import { isClientTerminal, type AllocationRow, type PublicNode } from '../../model/index.ts'
import type { Proposed } from '../proposed.ts'
import type { PlacementView } from '../view.ts'
import type { DistinctRule } from './distinct.ts'
import { volumeOn } from './volume-check.ts'

interface WriterContext {
  readonly job: Job
  readonly group: TaskGroup
  readonly proposed: Proposed
  readonly view: Pick<PlacementView, 'allocationsOn' | 'findJobOf'>
}

/** A volume that one allocation alone may write takes no second one. */
export function singleWriterRules(context: WriterContext): readonly DistinctRule[] {
  const sources = Object.values(context.group.Volumes ?? {})
    .filter((volume) => volume.AccessMode === 'single-node-single-writer' && !volume.PerAlloc)
    .map(({ Source }) => Source)
  return sources.map((source) => {
    const text = `host volume "${source}" has a writer`
    return {
      rule: 'volume',
      level: 'group',
      constraint: null,
      check: (node) => (hasWriter(node, source, context) ? text : undefined),
      found: () => source,
      flipped: () => [],
    }
  })
}

function hasWriter(
  node: PublicNode,
  source: string,
  { job, proposed, view }: WriterContext,
): boolean {
  // One of the configuration may be written by any number.
  if ((volumeOn(node, source)?.ID ?? '') === '') return false
  const own = job.TaskGroups.filter((group) => writes(group, source))
  if (own.some(({ Name }) => proposed.countOn(node.ID, Name) > 0)) return true
  return view.allocationsOn(node.ID).some((row) => {
    if (isOf(row, job) || isClientTerminal(row) || proposed.isEvicted(row)) return false
    const groups = view.findJobOf(row)?.TaskGroups ?? []
    return groups.some((group) => group.Name === row.TaskGroup && writes(group, source))
  })
}

/** Those of the job itself are in the plan so far. */
function isOf(row: AllocationRow, job: Job): boolean {
  return row.Namespace === job.Namespace && row.JobID === job.ID
}

function writes({ Volumes }: TaskGroup, source: string): boolean {
  return Object.values(Volumes ?? {}).some(
    (volume) => volume.Type === 'host' && volume.Source === source && !volume.ReadOnly,
  )
}
