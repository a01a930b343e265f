import type { Deployment, Job, TaskGroup } from '@reeve/contract'
import { groupStateOf, type AllocationRow } from '../../model/index.ts'
import { isOnTrial } from './canary.ts'
import type { Rollout } from './rollout.ts'

export interface RepairContext {
  readonly job: Job
  readonly rollout: Rollout
  /** Every allocation of the job's ID. */
  readonly rows: readonly AllocationRow[]
  /** Versions of the job that are kept, oldest first. */
  readonly findVersions: () => readonly Job[]
  readonly findDeployments: () => readonly Deployment[]
  /** The version that an allocation runs; undefined when it is no longer kept. */
  readonly findJobOf: (row: AllocationRow) => Job | undefined
}

/**
 * The versions that repair goes on with while the job's own version is not rolled out: its
 * deployment has failed, is paused, or waits for the promotion of its canaries. A deployment that
 * ends or waits ends or delays the roll-out of a version, never the replacement of allocations.
 */
export class RepairVersions {
  readonly #context: RepairContext
  readonly #proven = new Map<string, Job | undefined>()

  constructor(context: RepairContext) {
    this.#context = context
  }

  /** The version that a replacement runs; undefined: the job's own. */
  forReplacement(groupName: string, previous: AllocationRow | undefined): Job | undefined {
    const { job } = this.#context
    if (previous === undefined) return this.forMissing(groupName)
    const isOwn = previous.JobVersion === job.Version && previous.CreateIndex >= job.CreateIndex
    // It worked with the job's own version, so the same version replaces it.
    if (isOwn && previous.DeploymentStatus?.Healthy === true) return undefined
    return this.#findProven(groupName) ?? (isOwn ? undefined : this.#versionOf(previous))
  }

  /**
   * The version of an allocation that has no predecessor. Where no other version was ever rolled
   * out, one that was given to all before it failed is as good as any; one that was only tried by
   * canaries, or that waits, is not.
   */
  forMissing(groupName: string): Job | undefined {
    const { current, isFailed } = this.#context.rollout
    const proven = this.#findProven(groupName)
    if (proven !== undefined) return proven
    const wasGivenToAll = isFailed && !isOnTrial(groupStateOf(current, groupName))
    return wasGivenToAll ? undefined : this.#newestOlder(groupName)
  }

  #findProven(groupName: string): Job | undefined {
    if (this.#proven.has(groupName)) return this.#proven.get(groupName)
    const { job, rollout, findVersions, findDeployments } = this.#context
    const found = provenVersion(job, groupName, {
      versions: findVersions(),
      deployments: findDeployments(),
      needsStable: rollout.isFailed,
    })
    this.#proven.set(groupName, found)
    return found
  }

  #newestOlder(groupName: string): Job | undefined {
    const { rows } = this.#context
    let newest: AllocationRow | undefined
    for (const row of rows)
      if (row.TaskGroup === groupName && this.#isOlderVersion(row))
        if (newest === undefined || row.JobVersion > newest.JobVersion) newest = row
    const found = newest === undefined ? undefined : this.#versionOf(newest)
    return found !== undefined && groupOf(found, groupName) !== undefined ? found : undefined
  }

  #versionOf(row: AllocationRow): Job | undefined {
    return this.#isOlderVersion(row) ? this.#context.findJobOf(row) : undefined
  }

  /** A version number says nothing across a purge: the old job of that number was another one. */
  #isOlderVersion(row: AllocationRow): boolean {
    const { job } = this.#context
    return row.CreateIndex >= job.CreateIndex && row.JobVersion < job.Version
  }
}

export interface KnownVersions {
  /** Oldest first. */
  readonly versions: readonly Job[]
  readonly deployments: readonly Deployment[]
  /**
   * Whether only a stable version will do. After a failure one that was given to all and never
   * proved itself is no better, and the record of its deployment is collected after a while.
   */
  readonly needsStable: boolean
}

/**
 * The newest version before the job's own that was rolled out: stable, promoted, or given to all
 * without canaries. Undefined when none is kept.
 */
function provenVersion(
  job: Job,
  groupName: string,
  { versions, deployments, needsStable }: KnownVersions,
): Job | undefined {
  const byVersion = new Map(
    deployments
      .filter((one) => one.JobCreateIndex === job.CreateIndex)
      .map((one) => [one.JobVersion, one]),
  )
  const usable = versions.filter(
    (version) =>
      version.CreateIndex === job.CreateIndex &&
      version.Version < job.Version &&
      !version.Stop &&
      groupOf(version, groupName) !== undefined,
  )
  const stable = usable.findLast((version) => version.Stable)
  if (needsStable) return stable
  return usable.findLast(
    (version) => version === stable || wasRolledOut(byVersion.get(version.Version), groupName),
  )
}

function wasRolledOut(deployment: Deployment | undefined, groupName: string): boolean {
  const state = groupStateOf(deployment, groupName)
  if (state === undefined || deployment?.Status === 'failed') return false
  return state.Promoted || state.DesiredCanaries === 0
}

export function groupOf(job: Job, groupName: string): TaskGroup | undefined {
  return job.TaskGroups.find((group) => group.Name === groupName)
}
