import type { Deployment, Job, TaskGroup } from '@reeve/contract'
import { groupStateOf, type AllocationRow } from '../../model/index.ts'
import { requiresPromotion } from './canary.ts'
import type { DeploymentState } from './rollout.ts'

export interface RepairVersionsOptions {
  readonly job: Job
  readonly rollout: DeploymentState
  /** All allocations with the ID of the job. */
  readonly rows: readonly AllocationRow[]
  /** Stored versions of the job, oldest first. */
  readonly findVersions: () => readonly Job[]
  readonly findDeployments: () => readonly Deployment[]
  /** Version that an allocation runs; undefined if it is no longer stored. */
  readonly jobVersionOf: (row: AllocationRow) => Job | undefined
}

/**
 * Chooses the version of replacements while the current version is not deployed: its deployment
 * failed, is paused, or awaits promotion. The end or pause of a deployment affects the rollout of a
 * version, never the replacement of allocations.
 */
export class RepairVersions {
  readonly #context: RepairVersionsOptions
  readonly #deployedVersions = new Map<string, Job | undefined>()

  constructor(context: RepairVersionsOptions) {
    this.#context = context
  }

  /** Version of a replacement; undefined: the current one. */
  forReplacement(groupName: string, previous: AllocationRow | undefined): Job | undefined {
    const { job } = this.#context
    if (previous === undefined) return this.forMissing(groupName)
    const runsCurrentVersion =
      previous.JobVersion === job.Version && previous.CreateIndex >= job.CreateIndex
    // The predecessor was healthy with the current version.
    if (runsCurrentVersion && previous.DeploymentStatus?.Healthy === true) return undefined
    return (
      this.#findDeployedVersion(groupName) ??
      (runsCurrentVersion ? undefined : this.#versionOf(previous))
    )
  }

  /**
   * Version of an allocation without a predecessor. If no other version was ever deployed, a failed
   * version that was deployed without canaries is used; one with unpromoted canaries, or a paused
   * one, is not.
   */
  forMissing(groupName: string): Job | undefined {
    const { current, isFailed } = this.#context.rollout
    const deployedVersion = this.#findDeployedVersion(groupName)
    if (deployedVersion !== undefined) return deployedVersion
    const wasDeployedWithoutCanaries =
      isFailed && !requiresPromotion(groupStateOf(current, groupName))
    return wasDeployedWithoutCanaries ? undefined : this.#newestOlderVersion(groupName)
  }

  #findDeployedVersion(groupName: string): Job | undefined {
    if (this.#deployedVersions.has(groupName)) return this.#deployedVersions.get(groupName)
    const { job, rollout, findVersions, findDeployments } = this.#context
    const found = lastDeployedVersion(job, groupName, {
      versions: findVersions(),
      deployments: findDeployments(),
      needsStable: rollout.isFailed,
    })
    this.#deployedVersions.set(groupName, found)
    return found
  }

  #newestOlderVersion(groupName: string): Job | undefined {
    const { rows } = this.#context
    let newest: AllocationRow | undefined
    for (const row of rows)
      if (row.TaskGroup === groupName && this.#isOlderVersion(row))
        if (newest === undefined || row.JobVersion > newest.JobVersion) newest = row
    const found = newest === undefined ? undefined : this.#versionOf(newest)
    return found !== undefined && groupOf(found, groupName) !== undefined ? found : undefined
  }

  #versionOf(row: AllocationRow): Job | undefined {
    return this.#isOlderVersion(row) ? this.#context.jobVersionOf(row) : undefined
  }

  /** Version numbers are not comparable across a purge of the job. */
  #isOlderVersion(row: AllocationRow): boolean {
    const { job } = this.#context
    return row.CreateIndex >= job.CreateIndex && row.JobVersion < job.Version
  }
}

export interface KeptVersions {
  /** Oldest first. */
  readonly versions: readonly Job[]
  readonly deployments: readonly Deployment[]
  /**
   * Whether only a stable version is acceptable. After a failure, a version that was deployed but
   * never became stable is no better; its deployment record may also be collected.
   */
  readonly needsStable: boolean
}

/**
 * Returns the newest earlier version that was deployed: stable, promoted, or deployed without
 * canaries. Undefined if none is stored.
 */
function lastDeployedVersion(
  job: Job,
  groupName: string,
  { versions, deployments, needsStable }: KeptVersions,
): Job | undefined {
  const byVersion = new Map(
    deployments
      .filter((one) => one.JobCreateIndex === job.CreateIndex)
      .map((one) => [one.JobVersion, one]),
  )
  const candidates = versions.filter(
    (version) =>
      version.CreateIndex === job.CreateIndex &&
      version.Version < job.Version &&
      !version.Stop &&
      groupOf(version, groupName) !== undefined,
  )
  const stable = candidates.findLast((version) => version.Stable)
  if (needsStable) return stable
  return candidates.findLast(
    (version) => version === stable || wasDeployed(byVersion.get(version.Version), groupName),
  )
}

function wasDeployed(deployment: Deployment | undefined, groupName: string): boolean {
  const state = groupStateOf(deployment, groupName)
  if (state === undefined || deployment?.Status === 'failed') return false
  return state.Promoted || state.DesiredCanaries === 0
}

export function groupOf(job: Job, groupName: string): TaskGroup | undefined {
  return job.TaskGroups.find((group) => group.Name === groupName)
}
