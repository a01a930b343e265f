import type { Input, Job, MultiregionRegion } from '@reeve/contract'

/** What a region that fails means for the others of a roll-out; empty is the default. */
const ON_FAILURE: readonly string[] = ['', 'fail_all', 'fail_local']

/** What is wrong with the regions that a job lists; undefined when nothing is. */
export function multiregionProblem({ Multiregion }: Pick<Job, 'Multiregion'>): string | undefined {
  if (Multiregion === null) return undefined
  const names = Multiregion.Regions.map(({ Name }) => Name)
  if (names.length === 0) return 'Multiregion must list at least one region'
  if (names.includes('')) return 'Multiregion region must have a name'
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return `Multiregion lists region "${twice}" twice`
  if (Multiregion.Regions.some(({ Count }) => Count < 0))
    return 'Multiregion region count must be >= 0'
  const { MaxParallel = 0, OnFailure = '' } = Multiregion.Strategy ?? {}
  if (MaxParallel < 0) return 'Multiregion strategy max_parallel must be >= 0'
  return ON_FAILURE.includes(OnFailure)
    ? undefined
    : `Multiregion strategy on_failure must be one of "", "fail_all" and "fail_local"`
}

/**
 * The job as one of its regions runs it: the region's datacenters and node pool in place of the
 * job's, its meta beside the job's, and its count for every group that says none itself.
 */
export function jobInRegion(job: Input<Job>, region: Input<MultiregionRegion>): Input<Job> {
  const { Count, Datacenters, NodePool, Meta } = region
  const count = Count ?? 0
  return {
    ...job,
    ...(Datacenters && Datacenters.length > 0 && { Datacenters }),
    ...((NodePool ?? '') !== '' && { NodePool }),
    ...(Meta && { Meta: { ...job.Meta, ...Meta } }),
    ...(count > 0 && {
      TaskGroups: (job.TaskGroups ?? []).map((group) =>
        (group.Count ?? 0) === 0 ? { ...group, Count: count } : group,
      ),
    }),
  }
}

/** Whether regions take turns: they look at each other, and end their roll-outs together. */
export function isCoordinated({ Multiregion }: Pick<Job, 'Multiregion'>): boolean {
  return Multiregion !== null && Multiregion.Strategy !== null && Multiregion.Regions.length > 1
}

/** A region that is not among the first has to wait until others are done. */
export function waitsForRegions(
  { Multiregion }: Pick<Job, 'Multiregion'>,
  region: string,
): boolean {
  const together = Multiregion?.Strategy?.MaxParallel ?? 0
  if (Multiregion === null || together === 0) return false
  return Multiregion.Regions.findIndex(({ Name }) => Name === region) >= together
}
