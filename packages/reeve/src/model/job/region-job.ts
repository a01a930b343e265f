import type { Input, Job, MultiregionRegion } from '@reeve/contract'

/** Values of `on_failure`: the effect of a failed region on the others; empty is the default. */
const ON_FAILURE: readonly string[] = ['', 'fail_all', 'fail_local']

/** Returns the problem of a job's regions; undefined if there is none. */
export function multiregionProblem({ Multiregion }: Pick<Job, 'Multiregion'>): string | undefined {
  if (Multiregion === null) return undefined
  const names = Multiregion.Regions.map(({ Name }) => Name)
  if (names.length === 0) return 'Multiregion must list at least one region'
  if (names.includes('')) return 'Multiregion region must have a name'
  const duplicate = names.find((name, index) => names.indexOf(name) !== index)
  if (duplicate !== undefined) return `Multiregion lists region "${duplicate}" twice`
  if (Multiregion.Regions.some(({ Count }) => Count < 0))
    return 'Multiregion region count must be >= 0'
  const { MaxParallel = 0, OnFailure = '' } = Multiregion.Strategy ?? {}
  if (MaxParallel < 0) return 'Multiregion strategy max_parallel must be >= 0'
  return ON_FAILURE.includes(OnFailure)
    ? undefined
    : `Multiregion strategy on_failure must be one of "", "fail_all" and "fail_local"`
}

/**
 * Returns the job of one region: with the region's datacenters and node pool, its meta merged with
 * the job's, and its count for every group without one.
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

/** Reports whether regions deploy in turn and complete their deployments together. */
export function hasMultiregionStrategy({ Multiregion }: Pick<Job, 'Multiregion'>): boolean {
  return Multiregion !== null && Multiregion.Strategy !== null && Multiregion.Regions.length > 1
}

/** Reports whether a region waits for others: all but the first `max_parallel` do. */
export function startsPending({ Multiregion }: Pick<Job, 'Multiregion'>, region: string): boolean {
  const maxParallel = Multiregion?.Strategy?.MaxParallel ?? 0
  if (Multiregion === null || maxParallel === 0) return false
  return Multiregion.Regions.findIndex(({ Name }) => Name === region) >= maxParallel
}
