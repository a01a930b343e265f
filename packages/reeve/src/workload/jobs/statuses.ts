import type {
  Deployment,
  Job,
  JobStatusAllocation,
  JobStatusDeployment,
  JobStatusRow,
} from '@reeve/contract'
import { compareText } from '../../kit/sorted-list.ts'
import {
  awaitsPromotion,
  isActiveDeployment,
  isParent,
  promotesItself,
  type AllocationRow,
} from '../../model/index.ts'
import { namespacedKey, type Store } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/** A job in the order of changes; the row itself is looked up when it is shown. */
export interface ChangedJob {
  readonly modifyIndex: number
  readonly key: string
}

/** The newest change first; a commit may change several jobs. */
export function compareChanges(a: ChangedJob, b: ChangedJob): number {
  return b.modifyIndex - a.modifyIndex || compareText(a.key, b.key)
}

/**
 * All jobs in the order of their changes. It is sorted when it is asked for and kept until a job
 * changes: an order that is kept up to date would cost every write of a job, and most servers are
 * asked for it less often than jobs are written.
 */
export class JobsByChange {
  readonly #store: Store
  #order: readonly ChangedJob[] = []
  #index = -1

  constructor(store: Store) {
    this.#store = store
  }

  get order(): readonly ChangedJob[] {
    const { jobs } = this.#store.tables
    if (this.#index !== jobs.lastIndex) {
      this.#order = changedJobs(this.#store, jobs.keys())
      this.#index = jobs.lastIndex
    }
    return this.#order
  }
}

/** Those of the named jobs that exist. */
export function changedJobs({ tables }: Store, keys: Iterable<string>): readonly ChangedJob[] {
  const found: ChangedJob[] = []
  for (const key of keys) {
    const modifyIndex = tables.jobs.modifyIndexOf(key)
    if (modifyIndex !== undefined) found.push({ modifyIndex, key })
  }
  return found.toSorted(compareChanges)
}

/** Reference §8.9: a job with the state of what runs of it. */
export function jobStatusRow({ store, view }: WorkloadContext, job: Job): JobStatusRow {
  const key = namespacedKey(job.Namespace, job.ID)
  const rows = store.tables.allocations.rowsIn('job', key)
  const deployment = view.latestDeployment(job.Namespace, job.ID)
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
    Allocs: rows.filter((row) => row.CreateIndex >= job.CreateIndex).map(allocationOf),
    GroupCountSum: job.TaskGroups.reduce((sum, { Count }) => sum + Count, 0),
    ChildStatuses: isParent(job) ? childStatuses(store, key) : null,
    ParentID: job.ParentID,
    LatestDeployment:
      deployment?.JobCreateIndex === job.CreateIndex ? deploymentOf(deployment) : null,
    Stop: job.Stop,
    Status: job.Status,
  }
}

function allocationOf(row: AllocationRow): JobStatusAllocation {
  return {
    ID: row.ID,
    Group: row.TaskGroup,
    ClientStatus: row.ClientStatus,
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
