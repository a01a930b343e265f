import type { Deployment, DeploymentGroupState, Job, UpdateStrategy } from '@reeve/contract'
import { nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { originFieldsOf } from '../job/version-origin.ts'
import { DEPLOYMENT_DESCRIPTIONS } from './deployment-status.ts'

export interface NewDeploymentOptions {
  readonly id: string
  readonly timeMs: number
  /** Priority of the evaluations that the deployment creates. */
  readonly priority: number
}

/** Creates the deployment of a job version, without groups. The store sets its indexes. */
export function newDeployment(
  job: Job,
  { id, timeMs, priority }: NewDeploymentOptions,
): Deployment {
  return {
    ID: id,
    Namespace: job.Namespace,
    JobID: job.ID,
    JobVersion: job.Version,
    JobModifyIndex: job.ModifyIndex,
    JobSpecModifyIndex: job.JobModifyIndex,
    JobCreateIndex: job.CreateIndex,
    IsMultiregion: job.Multiregion !== null,
    TaskGroups: {},
    Status: 'running',
    StatusDescription: DEPLOYMENT_DESCRIPTIONS.running,
    EvalPriority: priority,
    CreateIndex: 0,
    ModifyIndex: 0,
    CreateTime: nsFromMs(timeMs),
    ModifyTime: nsFromMs(timeMs),
    ...originFieldsOf(job),
  }
}

/** Creates the initial state of a group in a deployment. */
export function newGroupState(update: UpdateStrategy): DeploymentGroupState {
  return {
    AutoRevert: update.AutoRevert,
    AutoPromote: update.AutoPromote,
    ProgressDeadline: update.ProgressDeadline,
    RequireProgressBy: ZERO_TIME,
    Promoted: false,
    PlacedCanaries: null,
    DesiredCanaries: 0,
    DesiredTotal: 0,
    PlacedAllocs: 0,
    HealthyAllocs: 0,
    UnhealthyAllocs: 0,
  }
}

/**
 * Returns the state of a group. Group names come from users, so inherited properties such as
 * `toString` must not match.
 */
export function groupStateOf(
  deployment: Deployment | undefined,
  group: string,
): DeploymentGroupState | undefined {
  if (deployment === undefined || !Object.hasOwn(deployment.TaskGroups, group)) return undefined
  return deployment.TaskGroups[group]
}

/** Returns the deployment with groups replaced or added, sorted by name. */
export function withGroupStates(
  deployment: Deployment,
  states: ReadonlyMap<string, DeploymentGroupState>,
): Deployment {
  const all = new Map([...Object.entries(deployment.TaskGroups), ...states])
  const sorted = [...all].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  // Built from entries, because a group may be called `__proto__`.
  return { ...deployment, TaskGroups: Object.fromEntries(sorted) }
}
