import type { Deployment, Job } from '@reeve/contract'
import { groupStateOf } from '../../model/index.ts'

export interface KnownVersions {
  /** Oldest first. */
  readonly versions: readonly Job[]
  readonly deployments: readonly Deployment[]
}

/**
 * The newest version before the job's own that was rolled out: stable, promoted, or given to all
 * without a trial (scheduling reference §6.7). While a new version is on trial, whatever has to be
 * replaced beside its canaries goes on with this one. Undefined when none is kept.
 */
export function rolledOutVersion(
  job: Job,
  groupName: string,
  { versions, deployments }: KnownVersions,
): Job | undefined {
  const byVersion = new Map(
    deployments
      .filter((one) => one.JobCreateIndex === job.CreateIndex)
      .map((one) => [one.JobVersion, one]),
  )
  return versions.findLast(
    (version) =>
      version.CreateIndex === job.CreateIndex &&
      version.Version < job.Version &&
      !version.Stop &&
      version.TaskGroups.some((group) => group.Name === groupName) &&
      (version.Stable || wasRolledOut(byVersion.get(version.Version), groupName)),
  )
}

function wasRolledOut(deployment: Deployment | undefined, groupName: string): boolean {
  const state = groupStateOf(deployment, groupName)
  if (state === undefined || deployment?.Status === 'failed') return false
  return state.Promoted || state.DesiredCanaries === 0
}
