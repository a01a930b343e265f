import {
  allocationHealth,
  jobHealth,
  type Deployment,
  type Job,
  type JobStatusAllocation,
  type JobStatusDeployment,
  type JobStatusRow,
  type JobSummary,
  type TaskGroupSummary,
} from '@reeve/contract'
import {
  allocationStub,
  awaitsPromotion,
  isActiveDeployment,
  isParent,
  promotesItself,
  type AllocationRow,
} from '../../model/index.ts'
import { namespacedKey, type Store } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/** A job with the state of what runs of it. */
export function jobStatusRow(context: WorkloadContext, job: Job): JobStatusRow {
  const { store } = context
  const key = namespacedKey(job.Namespace, job.ID)
  const rows = store.tables.allocations.rowsIn('job', key)
  return {
    ...fieldsOf(context, job),
    Allocs: rows
      .filter((row) => row.CreateIndex >= job.CreateIndex)
      .map((row) => allocationOf(row, context.clock.nowMs())),
    ChildStatuses: isParent(job) ? childStatuses(store, key) : null,
  }
}

/**
 * The same with numbers in the place of lists, from the summary that is kept of every job: what a
 * row costs does not depend on how many allocations and children the job has.
 */
export function jobCountsRow(context: WorkloadContext, job: Job): JobStatusRow {
  return {
    ...fieldsOf(context, job),
    Allocs: [],
    AllocCounts: countsOf(summaryOf(context.store, job)),
    ChildStatuses: isParent(job) ? [] : null,
    ChildCounts: isParent(job) ? (summaryOf(context.store, job)?.Children ?? NO_CHILDREN) : null,
  }
}

const NO_CHILDREN = { Pending: 0, Running: 0, Dead: 0 } as const

type Fields = Omit<JobStatusRow, 'Allocs' | 'ChildStatuses'>

function fieldsOf({ store, view }: WorkloadContext, job: Job): Fields {
  const latest = view.latestDeployment(job.Namespace, job.ID)
  const deployment = latest?.JobCreateIndex === job.CreateIndex ? latest : undefined
  const wanted = job.TaskGroups.reduce((sum, { Count }) => sum + Count, 0)
  const summary = summaryOf(store, job)
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
    GroupCountSum: wanted,
    ParentID: job.ParentID,
    LatestDeployment: deployment === undefined ? null : deploymentOf(deployment),
    Stop: job.Stop,
    Status: job.Status,
    Health: jobHealth({
      job,
      isParent: isParent(job),
      wanted: job.Type.startsWith('sys') ? 0 : wanted,
      counts: countsOf(summary),
      children: summary?.Children ?? null,
      isDeploying: deployment !== undefined && isActiveDeployment(deployment),
      hasFailingChecks:
        store.tables.service_registrations.countIn(
          'failingChecks',
          namespacedKey(job.Namespace, job.ID),
        ) > 0,
    }),
  }
}

function summaryOf({ tables }: Store, { Namespace, ID }: Job): JobSummary | undefined {
  return tables.job_summaries.find(namespacedKey(Namespace, ID))
}

/** Over all groups. */
function countsOf(summary: JobSummary | undefined): TaskGroupSummary {
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

function allocationOf(row: AllocationRow, nowMs: number): JobStatusAllocation {
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

/** Only the children that live are read: a parent may have made very many that are dead. */
function childStatuses(
  { tables: { jobs } }: Store,
  parentKey: string,
): JobStatusRow['ChildStatuses'] {
  const live = jobs.rowsIn('liveChild', parentKey).map((child) => child.Status)
  const dead = jobs.countIn('parent', parentKey) - live.length
  return [...live, ...Array.from({ length: dead }, () => 'dead' as const)]
}

function deploymentOf(deployment: Deployment): JobStatusDeployment {
  return {
    ID: deployment.ID,
    IsActive: isActiveDeployment(deployment),
    JobVersion: deployment.JobVersion,
    Status: deployment.Status,
    StatusDescription: deployment.StatusDescription,
    AllAutoPromote: promotesItself(deployment),
    RequiresPromotion: isActiveDeployment(deployment) && awaitsPromotion(deployment),
  }
}
