import type { Deployment, DeploymentGroupState, Job, UpdateStrategy } from '@reeve/contract'
import { nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { originOf } from '../job/version-origin.ts'
import { DEPLOYMENT_TEXTS } from './deployment-status.ts'

export interface DeploymentOptions {
  readonly id: string
  readonly timeMs: number
  /** Of the evaluations that the deployment will ask for. */
  readonly priority: number
}

/** The roll-out of a version of a job, without groups yet. The store writes its indexes. */
export function newDeployment(job: Job, { id, timeMs, priority }: DeploymentOptions): Deployment {
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
    StatusDescription: DEPLOYMENT_TEXTS.running,
    EvalPriority: priority,
    CreateIndex: 0,
    ModifyIndex: 0,
    CreateTime: nsFromMs(timeMs),
    ModifyTime: nsFromMs(timeMs),
    ...originOf(job),
  }
}

/** A group at the start of its roll-out. */
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

/** The state of one of a deployment's groups. Names come from jobs: `toString` is a name too. */
export function groupStateOf(
  deployment: Deployment | undefined,
  group: string,
): DeploymentGroupState | undefined {
  if (deployment === undefined || !Object.hasOwn(deployment.TaskGroups, group)) return undefined
  return deployment.TaskGroups[group]
}

/** The deployment with some of its groups replaced or added; groups stay in order of names. */
export function withGroupStates(
  deployment: Deployment,
  states: ReadonlyMap<string, DeploymentGroupState>,
): Deployment {
  const all = new Map([...Object.entries(deployment.TaskGroups), ...states])
  const sorted = [...all].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  // As entries, never by assignment: a group may be called `__proto__`.
  return { ...deployment, TaskGroups: Object.fromEntries(sorted) }
}
