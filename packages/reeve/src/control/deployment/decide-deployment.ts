import type { Deployment, Job } from '@reeve/contract'
import {
  DEPLOYMENT_TEXTS,
  failureReason,
  groupStateOf,
  isActiveDeployment,
  isRolledOut,
  isRolledOutBy,
  isServerTerminal,
  progressDue,
  promotesNow,
  type AllocationRow,
  type ProgressDue,
} from '../../model/index.ts'
import { mayReschedule } from '../../scheduler/index.ts'

/** What the watcher may see of one deployment. State satisfies it; a test does with arrays. */
export interface DeploymentView {
  /** Its allocations that changed since it was last decided about. */
  readonly changed: readonly AllocationRow[]
  /** Health that was written at this index or before has been acted on. */
  readonly judgedIndex: number
  /** Whether allocations of other versions of the job are known: they may wait for their turn. */
  readonly hasOtherVersions: boolean
  findJob(namespace: string, id: string): Job | undefined
  findAllocation(id: string): AllocationRow | undefined
  /** All its allocations; asked for only where its counters do not tell enough. */
  findAllocations(): readonly AllocationRow[]
}

export interface DeploymentFailure {
  readonly text: string
  /** What its allocations say about it; empty when they say nothing. */
  readonly reason: string
  /** Whether a group that fails asked to be reverted: the whole job is. */
  readonly reverts: boolean
}

/** What follows for a deployment from how its allocations are. */
export interface WatchDecision {
  /** It fails; nothing else happens then. */
  readonly failure: DeploymentFailure | undefined
  /** All its canaries are promoted. */
  readonly promotes: boolean
  /** Unhealthy and failed allocations that the scheduler may replace from now on. */
  readonly marks: readonly AllocationRow[]
  /** Its job is evaluated: the next allocations may have their turn. */
  readonly evaluates: boolean
  /** When to look again though nothing changes; undefined when only a change matters. */
  readonly nextMs: number | undefined
}

const NOTHING: WatchDecision = {
  failure: undefined,
  promotes: false,
  marks: [],
  evaluates: false,
  nextMs: undefined,
}

/** Pure: equal inputs, equal decisions. */
export function decideDeployment(
  view: DeploymentView,
  deployment: Deployment,
  nowMs: number,
): WatchDecision {
  const job = view.findJob(deployment.Namespace, deployment.JobID)
  // Of a job that has moved on, the evaluation of the newer version puts an end to it.
  if (job === undefined || !isActiveDeployment(deployment) || !isRolledOutBy(deployment, job))
    return NOTHING
  const rows = view.changed.filter(
    (row) => row.DeploymentID === deployment.ID && !isServerTerminal(row),
  )
  const unhealthy = rows.filter((row) => row.DeploymentStatus?.Healthy === false)
  const due = progressDue(deployment, () => view.findAllocations())
  const failure =
    failureByQuarantine(deployment, job) ??
    failureByHealth(deployment, job, { unhealthy, nowMs }) ??
    failureByDeadline(view, deployment, { due, nowMs })
  if (failure !== undefined) return { ...NOTHING, failure }
  // What was healthy and failed later is replaced too, but says nothing against the version.
  const failed = rows.filter(
    (row) => row.ClientStatus === 'failed' && row.DeploymentStatus?.Healthy === true,
  )
  const marks = [...unhealthy, ...failed].filter(
    (row) => row.DesiredTransition?.Reschedule !== true,
  )
  // A job of one version has nothing that waits for its turn: only the last word on it matters.
  const mayGoOn = view.hasOtherVersions || isRolledOut(deployment)
  const hasNews = mayGoOn && rows.some((row) => isNews(row, view.judgedIndex))
  return {
    ...NOTHING,
    promotes: promotesNow(deployment, (id) => view.findAllocation(id)),
    marks,
    evaluates: marks.length > 0 || hasNews,
    nextMs: earliest(due.map(({ dueMs }) => dueMs)),
  }
}

/** Nothing more of it is placed (decision 0061); a group may ask for the version before. */
function failureByQuarantine(deployment: Deployment, job: Job): DeploymentFailure | undefined {
  if (job.Quarantine === undefined) return undefined
  const groups = Object.keys(deployment.TaskGroups)
  return failureOf(deployment, groups, { text: DEPLOYMENT_TEXTS.quarantined, rows: [] })
}

interface Unhealthy {
  readonly unhealthy: readonly AllocationRow[]
  readonly nowMs: number
}

/** Nothing will replace one of them: there is no time to try, or no attempt is left. */
function failureByHealth(
  deployment: Deployment,
  job: Job,
  { unhealthy, nowMs }: Unhealthy,
): DeploymentFailure | undefined {
  const hopeless = unhealthy.filter((row) => {
    const state = groupStateOf(deployment, row.TaskGroup)
    if (state === undefined) return false
    return state.ProgressDeadline === 0 || !hasAttemptsLeft(job, row, nowMs)
  })
  const groups = hopeless.map((row) => row.TaskGroup)
  return failureOf(deployment, groups, { text: DEPLOYMENT_TEXTS.unhealthy, rows: hopeless })
}

/** System jobs have no policy: nothing places again by itself what failed in them. */
function hasAttemptsLeft(job: Job, row: AllocationRow, nowMs: number): boolean {
  const policy = job.TaskGroups.find(({ Name }) => Name === row.TaskGroup)?.ReschedulePolicy ?? null
  return policy !== null && mayReschedule(row, policy, nowMs)
}

function failureByDeadline(
  view: DeploymentView,
  deployment: Deployment,
  { due, nowMs }: { readonly due: readonly ProgressDue[]; readonly nowMs: number },
): DeploymentFailure | undefined {
  const overdue = due.filter(({ dueMs }) => dueMs <= nowMs)
  if (overdue.length === 0) return undefined
  const groups = overdue.map(({ group }) => group)
  const rows = view.findAllocations().filter((row) => {
    return groups.includes(row.TaskGroup) && row.DeploymentStatus?.Healthy !== true
  })
  return failureOf(deployment, groups, { text: DEPLOYMENT_TEXTS.tooSlow, rows })
}

function failureOf(
  deployment: Deployment,
  groups: readonly string[],
  { text, rows }: { readonly text: string; readonly rows: readonly AllocationRow[] },
): DeploymentFailure | undefined {
  if (groups.length === 0) return undefined
  const reverts = groups.some((group) => groupStateOf(deployment, group)?.AutoRevert === true)
  return { text, reverts, reason: failureReason(rows) }
}

function isNews({ DeploymentStatus: status }: AllocationRow, judgedIndex: number): boolean {
  return typeof status?.Healthy === 'boolean' && status.ModifyIndex > judgedIndex
}

function earliest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b))
}
