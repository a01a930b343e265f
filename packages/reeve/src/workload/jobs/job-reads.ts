import {
  allocationHealth,
  failureOf,
  failuresOfJob,
  jobHealth,
  type AllocationStub,
  type Deployment,
  type Job,
  type JobStatusAllocation,
  type JobStatusDeployment,
  type JobHealthFacts,
  type JobStatusRow,
  type JobSummary,
  type TaskGroupSummary,
  type JobAction,
  LOG_TYPES,
  type LogType,
} from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  allocationStub,
  awaitsPromotion,
  FAILING_GROUPS,
  isActiveDeployment,
  isParent,
  isAutoPromote,
  type AllocationRow,
} from '../../model/index.ts'
import { failingIndexKey, namespacedKey, type Store } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/** Status of a job with its allocations. */
export function jobStatusRow(context: WorkloadContext, job: Job): JobStatusRow {
  const { store } = context
  const key = namespacedKey(job.Namespace, job.ID)
  const rows = store.tables.allocations.rowsByIndex('job', key)
  return {
    ...statusFieldsOf(context, job),
    Allocs: rows
      .filter((row) => row.CreateIndex >= job.CreateIndex)
      .map((row) => allocationStatus(row, context.clock.nowMs())),
    ChildStatuses: isParent(job) ? childStatuses(store, key) : null,
  }
}

/**
 * Status of a job with counts instead of lists, from the job summary: the cost of a row does not
 * depend on the number of allocations and children.
 */
export function jobCountsRow(context: WorkloadContext, job: Job): JobStatusRow {
  return {
    ...statusFieldsOf(context, job),
    Allocs: [],
    AllocCounts: allocationCounts(summaryOf(context.store, job)),
    ChildStatuses: isParent(job) ? [] : null,
    ChildCounts: isParent(job) ? (summaryOf(context.store, job)?.Children ?? NO_CHILDREN) : null,
  }
}

const NO_CHILDREN = { Pending: 0, Running: 0, Dead: 0 } as const

type JobStatusFields = Omit<JobStatusRow, 'Allocs' | 'ChildStatuses'>

function statusFieldsOf({ store, view, clock }: WorkloadContext, job: Job): JobStatusFields {
  const latest = view.latestDeployment(job.Namespace, job.ID)
  const deployment = latest?.JobCreateIndex === job.CreateIndex ? latest : undefined
  const requestedCount = job.TaskGroups.reduce((sum, { Count }) => sum + Count, 0)
  const summary = summaryOf(store, job)
  const found = { job, failing: failingAllocations(store, job), nowMs: clock.nowMs() }
  return {
    ID: job.ID,
    Namespace: job.Namespace,
    Name: job.Name,
    Type: job.Type,
    NodePool: job.NodePool,
    Datacenters: job.Datacenters,
    Priority: job.Priority,
    Version: job.Version,
    SubmitTime: job.SubmitTime,
    ModifyIndex: job.ModifyIndex,
    GroupCountSum: requestedCount,
    ParentID: job.ParentID,
    LatestDeployment: deployment === undefined ? null : deploymentStatus(deployment),
    Stop: job.Stop,
    Status: job.Status,
    Health: jobHealth({
      job,
      isParent: isParent(job),
      wanted: job.Type.startsWith('sys') ? 0 : requestedCount,
      counts: allocationCounts(summary),
      children: summary?.Children ?? null,
      isDeploying: deployment !== undefined && isActiveDeployment(deployment),
      hasFailingChecks:
        store.tables.service_registrations.countByIndex(
          'failingChecks',
          namespacedKey(job.Namespace, job.ID),
        ) > 0,
      ...restartFacts(store, found),
    }),
    Failure: firstFailure(store, found) ?? null,
  }
}

/** Failing allocations read per job: rows of a page must not cost more for a large job. */
const FAILING_READ_MAX = 50

/** Returns allocations that may explain why the job fails, a limited number of each group. */
function failingAllocations({ tables }: Store, job: Job): readonly AllocationStub[] {
  const key = namespacedKey(job.Namespace, job.ID)
  return FAILING_GROUPS.flatMap((group) => {
    const keys = tables.allocations.keysByIndex('failing', failingIndexKey(group, key))
    return [...take(keys, FAILING_READ_MAX)]
      .map((id) => tables.allocations.get(id))
      .filter(({ CreateIndex }) => CreateIndex >= job.CreateIndex)
      .map((row) => allocationStub(row))
  })
}

function* take<T>(items: Iterable<T>, count: number): Iterable<T> {
  let taken = 0
  for (const item of items) {
    if (taken >= count) return
    taken += 1
    yield item
  }
}

interface FailingJob {
  readonly job: Job
  /** Some of the allocations that may explain why the job fails. */
  readonly failing: readonly AllocationStub[]
  readonly nowMs: number
}

/** Counts live allocations that fail now; those that were not read count like the others. */
function restartFacts(
  { tables }: Store,
  { job, failing, nowMs }: FailingJob,
): Pick<JobHealthFacts, 'restarting' | 'isUnstable'> {
  const key = failingIndexKey('live', namespacedKey(job.Namespace, job.ID))
  const total = tables.allocations.countByIndex('failing', key)
  const now = failing.filter((one) => failureOf(one, nowMs) !== undefined)
  const withStatus = (status: AllocationStub['ClientStatus']) =>
    now.filter(({ ClientStatus }) => ClientStatus === status).length
  const share = withStatus('pending') / Math.max(1, Math.min(total, FAILING_READ_MAX))
  return { restarting: Math.round(share * total), isUnstable: withStatus('running') > 0 }
}

/** Returns the failure that explains the state of a job best. */
function firstFailure({ tables }: Store, { job, failing, nowMs }: FailingJob) {
  const key = namespacedKey(job.Namespace, job.ID)
  // Keys of verdicts sort by time.
  const verdictKeys = [...tables.policy_verdicts.keysByIndex('job', key)].toSorted(compareText)
  const verdicts = verdictKeys.slice(-1).map((one) => tables.policy_verdicts.get(one))
  const evaluations = tables.evaluations.rowsByIndex('open', key)
  return failuresOfJob(job, { allocations: failing, evaluations, verdicts }, nowMs)[0]
}

function summaryOf({ tables }: Store, { Namespace, ID }: Job): JobSummary | undefined {
  return tables.job_summaries.find(namespacedKey(Namespace, ID))
}

/** Sums the counts of all groups. */
function allocationCounts(summary: JobSummary | undefined): TaskGroupSummary {
  const groups = Object.values(summary?.Summary ?? {})
  const sum = (count: keyof TaskGroupSummary): number =>
    groups.reduce((total, group) => total + group[count], 0)
  return {
    Queued: sum('Queued'),
    Complete: sum('Complete'),
    Failed: sum('Failed'),
    Running: sum('Running'),
    Starting: sum('Starting'),
    Lost: sum('Lost'),
    Unknown: sum('Unknown'),
  }
}

function allocationStatus(row: AllocationRow, nowMs: number): JobStatusAllocation {
  return {
    ID: row.ID,
    Group: row.TaskGroup,
    ClientStatus: row.ClientStatus,
    Health: allocationHealth(allocationStub(row), nowMs),
    NodeID: row.NodeID,
    DeploymentStatus: {
      Canary: row.DeploymentStatus?.Canary ?? false,
      Healthy: row.DeploymentStatus?.Healthy ?? null,
    },
    JobVersion: row.JobVersion,
    FollowupEvalID: row.FollowupEvalID ?? '',
  }
}

/** Reads only live children, because a parent may have very many dead ones. */
function childStatuses(
  { tables: { jobs } }: Store,
  parentKey: string,
): JobStatusRow['ChildStatuses'] {
  const live = jobs.rowsByIndex('liveChild', parentKey).map((child) => child.Status)
  const dead = jobs.countByIndex('parent', parentKey) - live.length
  return [...live, ...Array.from({ length: dead }, () => 'dead' as const)]
}

function deploymentStatus(deployment: Deployment): JobStatusDeployment {
  return {
    ID: deployment.ID,
    IsActive: isActiveDeployment(deployment),
    JobVersion: deployment.JobVersion,
    Status: deployment.Status,
    StatusDescription: deployment.StatusDescription,
    AllAutoPromote: isAutoPromote(deployment),
    RequiresPromotion: isActiveDeployment(deployment) && awaitsPromotion(deployment),
  }
}

/** Returns the named commands of a job, in the order of the job file. */
export function jobActions(job: Job): readonly JobAction[] {
  return job.TaskGroups.flatMap((group) =>
    group.Tasks.flatMap((task) =>
      (task.Actions ?? []).map(({ Name, Command, Args }) => ({
        Name,
        Command,
        Args,
        TaskName: task.Name,
        TaskGroupName: group.Name,
      })),
    ),
  )
}

/** One output stream of one task of one allocation. */
export interface LogSource {
  /** Unique and stable. */
  readonly key: string
  readonly allocation: string
  readonly nodeId: string
  readonly task: string
  readonly type: LogType
}

interface LogSourceFilter {
  readonly namespace: string
  readonly jobId: string
  /** All tasks if empty. */
  readonly task: string
  readonly types: readonly LogType[]
}

/** Default: both types. */
export const ALL_LOG_TYPES: readonly LogType[] = LOG_TYPES

/** Returns all existing and current log outputs of a job's tasks, oldest allocation first. */
export function jobLogSources(
  { store: { tables } }: WorkloadContext,
  { namespace, jobId, task, types }: LogSourceFilter,
): readonly LogSource[] {
  return tables.allocations
    .rowsByIndex('job', namespacedKey(namespace, jobId))
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex || compareText(a.ID, b.ID))
    .flatMap((row) => startedTaskNames(row, task).flatMap((name) => logSourcesOf(row, name, types)))
}

function startedTaskNames({ TaskStates }: AllocationRow, taskName: string): readonly string[] {
  return Object.entries(TaskStates ?? {})
    .filter(([name, { StartedAt }]) => {
      return (taskName === '' || name === taskName) && typeof StartedAt === 'string'
    })
    .map(([name]) => name)
}

function logSourcesOf(
  { ID, NodeID }: AllocationRow,
  task: string,
  types: readonly LogType[],
): readonly LogSource[] {
  return types.map((type) => {
    return { key: `${ID} ${task} ${type}`, allocation: ID, nodeId: NodeID, task, type }
  })
}

/** True if no more output can follow: the job was purged or has ended. */
export function isJobFinished(
  { store: { tables } }: WorkloadContext,
  { namespace, jobId }: Pick<LogSourceFilter, 'namespace' | 'jobId'>,
): boolean {
  const job = tables.jobs.find(namespacedKey(namespace, jobId))
  return job === undefined || job.Status === 'dead'
}
