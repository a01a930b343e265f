import type { Deployment, Job } from '@reeve/contract'
import {
  DEPLOYMENT_DESCRIPTIONS,
  failureReason,
  groupStateOf,
  isActiveDeployment,
  isDeploymentHealthy,
  isCurrentDeployment,
  isServerTerminal,
  progressDeadlines,
  shouldAutoPromote,
  type AllocationRow,
  type ProgressDeadline,
} from '../model/index.ts'
import { hasRescheduleAttemptsLeft } from '../scheduler/index.ts'

/** Input of the deployment watcher for one deployment. */
export interface DeploymentView {
  /** Allocations of the deployment that changed since the last decision. */
  readonly changed: readonly AllocationRow[]
  /** Health reports up to this index have been processed. */
  readonly processedIndex: number
  /** True if allocations of other versions of the job exist, which may be waiting to be updated. */
  readonly hasOtherVersions: boolean
  findJob(namespace: string, id: string): Job | undefined
  findAllocation(id: string): AllocationRow | undefined
  /** All allocations of the deployment; read only if its counters are not enough. */
  findAllocations(): readonly AllocationRow[]
}

interface DeploymentFailure {
  readonly description: string
  /** Reason given by its allocations; empty if there is none. */
  readonly reason: string
  /** True if a failed group has `auto_revert`; the whole job is reverted. */
  readonly hasAutoRevert: boolean
}

/** Next steps of a deployment according to the health of its allocations. */
export interface ProgressDecision {
  /** The deployment fails; the other fields are then empty. */
  readonly failure: DeploymentFailure | undefined
  /** All canaries are promoted. */
  readonly shouldPromote: boolean
  /** Unhealthy and failed allocations that the scheduler may now replace. */
  readonly toReschedule: readonly AllocationRow[]
  /** The job is evaluated, so that the next allocations can be updated. */
  readonly shouldEvaluate: boolean
  /** Time of the next check if nothing changes; undefined if none is needed. */
  readonly nextCheckMs: number | undefined
}

const NO_PROGRESS: ProgressDecision = {
  failure: undefined,
  shouldPromote: false,
  toReschedule: [],
  shouldEvaluate: false,
  nextCheckMs: undefined,
}

/** Decides the next steps of a deployment. Pure: equal inputs give equal decisions. */
export function decideDeploymentProgress(
  view: DeploymentView,
  deployment: Deployment,
  nowMs: number,
): ProgressDecision {
  const job = view.findJob(deployment.Namespace, deployment.JobID)
  // The deployment of an older version is cancelled by the evaluation of the newer one.
  if (job === undefined || !isActiveDeployment(deployment) || !isCurrentDeployment(deployment, job))
    return NO_PROGRESS
  const rows = view.changed.filter(
    (row) => row.DeploymentID === deployment.ID && !isServerTerminal(row),
  )
  const unhealthy = rows.filter((row) => row.DeploymentStatus?.Healthy === false)
  const deadlines = progressDeadlines(deployment, () => view.findAllocations())
  const failure =
    failureByQuarantine(deployment, job) ??
    failureByHealth(deployment, job, { unhealthy, nowMs }) ??
    failureByDeadline(view, deployment, { due: deadlines, nowMs })
  if (failure !== undefined) return { ...NO_PROGRESS, failure }
  // Allocations that failed after being healthy are also replaced, but do not fail the deployment.
  const failedAfterHealthy = rows.filter(
    (row) => row.ClientStatus === 'failed' && row.DeploymentStatus?.Healthy === true,
  )
  const toReschedule = [...unhealthy, ...failedAfterHealthy].filter(
    (row) => row.DesiredTransition?.Reschedule !== true,
  )
  // Without other versions nothing waits to be updated, so only the completion of the deployment
  // matters.
  const canProceed = view.hasOtherVersions || isDeploymentHealthy(deployment)
  const hasNewHealthReports =
    canProceed && rows.some((row) => hasNewHealth(row, view.processedIndex))
  return {
    ...NO_PROGRESS,
    shouldPromote: shouldAutoPromote(deployment, (id) => view.findAllocation(id)),
    toReschedule,
    shouldEvaluate: toReschedule.length > 0 || hasNewHealthReports,
    nextCheckMs: earliest(deadlines.map(({ dueMs }) => dueMs)),
  }
}

/** A quarantined version is not placed any more (decision 0061); a group may request a revert. */
function failureByQuarantine(deployment: Deployment, job: Job): DeploymentFailure | undefined {
  if (job.Quarantine === undefined) return undefined
  const groups = Object.keys(deployment.TaskGroups)
  return newFailure(deployment, groups, { text: DEPLOYMENT_DESCRIPTIONS.quarantined, rows: [] })
}

interface UnhealthyInput {
  readonly unhealthy: readonly AllocationRow[]
  readonly nowMs: number
}

/**
 * Fails if an unhealthy allocation cannot be replaced: no progress deadline, or no attempts left.
 */
function failureByHealth(
  deployment: Deployment,
  job: Job,
  { unhealthy, nowMs }: UnhealthyInput,
): DeploymentFailure | undefined {
  const unrecoverable = unhealthy.filter((row) => {
    const state = groupStateOf(deployment, row.TaskGroup)
    if (state === undefined) return false
    return state.ProgressDeadline === 0 || !hasAttemptsLeft(job, row, nowMs)
  })
  const groups = unrecoverable.map((row) => row.TaskGroup)
  return newFailure(deployment, groups, {
    text: DEPLOYMENT_DESCRIPTIONS.unhealthy,
    rows: unrecoverable,
  })
}

/** System jobs have no reschedule policy, so their failed allocations are not replaced. */
function hasAttemptsLeft(job: Job, row: AllocationRow, nowMs: number): boolean {
  const policy = job.TaskGroups.find(({ Name }) => Name === row.TaskGroup)?.ReschedulePolicy ?? null
  return policy !== null && hasRescheduleAttemptsLeft(row, policy, nowMs)
}

function failureByDeadline(
  view: DeploymentView,
  deployment: Deployment,
  { due, nowMs }: { readonly due: readonly ProgressDeadline[]; readonly nowMs: number },
): DeploymentFailure | undefined {
  const overdue = due.filter(({ dueMs }) => dueMs <= nowMs)
  if (overdue.length === 0) return undefined
  const groups = overdue.map(({ group }) => group)
  const rows = view.findAllocations().filter((row) => {
    return groups.includes(row.TaskGroup) && row.DeploymentStatus?.Healthy !== true
  })
  return newFailure(deployment, groups, { text: DEPLOYMENT_DESCRIPTIONS.progressDeadline, rows })
}

function newFailure(
  deployment: Deployment,
  groups: readonly string[],
  { text, rows }: { readonly text: string; readonly rows: readonly AllocationRow[] },
): DeploymentFailure | undefined {
  if (groups.length === 0) return undefined
  const hasAutoRevert = groups.some((group) => groupStateOf(deployment, group)?.AutoRevert === true)
  return { description: text, hasAutoRevert, reason: failureReason(rows) }
}

function hasNewHealth(
  { DeploymentStatus: status }: AllocationRow,
  processedIndex: number,
): boolean {
  return typeof status?.Healthy === 'boolean' && status.ModifyIndex > processedIndex
}

function earliest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b))
}
