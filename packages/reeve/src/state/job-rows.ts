import type { Deployment, Evaluation, Job, JobSummary } from '@reeve/contract'
import {
  isActiveDeployment,
  isTerminal,
  jobStatus,
  newSummary,
  summarize,
  withChild,
  withoutQuarantine,
  withQueued,
  type AllocationRow,
  type StatusChange,
} from '../model/index.ts'
import { withDeploymentRows } from './deployment-rows.ts'
import { withServiceRows } from './service-rows.ts'
import { put, type Change } from './store.ts'
import {
  isOpenEvaluation,
  jobVersionKey,
  namespacedKey,
  type TableName,
  type Tables,
} from './tables.ts'

/**
 * Completes changes of jobs, evaluations, allocations and deployments by the rows that follow from
 * them: the counters of deployments, the status of each job concerned and its summary, and services
 * that go. Whoever commits such changes passes them through here, so that status and counts are
 * never wrong by omission. Costs nothing per row that stays.
 */
export function withJobRows(tables: Tables, changes: readonly Change[]): Change[] {
  const all = withDeploymentRows(tables, changes)
  const work = new Completion(tables, all)
  for (const change of all) work.take(change)
  return withServiceRows(tables, work.result())
}

/** What the changes mean for one job. */
interface JobWork {
  readonly key: string
  /** The job and its summary as they will be, where they are written. */
  job: Job | undefined
  summary: JobSummary | undefined
  isRemoved: boolean
  /** Something has changed that its status follows from. */
  isConcerned: boolean
  /** Live allocations and the like that the changes add or take away. */
  deployments: number
  live: number
  open: number
  evaluations: number
  /** What happened to its allocations and is not in its summary yet. */
  statuses: StatusChange[]
}

const NO_STATUSES: StatusChange[] = []

class Completion {
  readonly #tables: Tables
  readonly #changes: readonly Change[]
  readonly #works = new Map<string, JobWork>()
  readonly #versions = new Map<string, Job>()

  constructor(tables: Tables, changes: readonly Change[]) {
    this.#tables = tables
    this.#changes = changes
    for (const change of changes)
      if (change.table === 'jobs' && change.row === undefined)
        this.#workOf(change.key).isRemoved = true
      else if (change.table === 'jobs' && change.row !== undefined)
        this.#workOf(namespacedKey(change.row.Namespace, change.row.ID)).job = change.row
      else if (change.table === 'job_versions' && change.row !== undefined)
        this.#versions.set(versionKeyOf(change.row), change.row)
  }

  take(change: Change): void {
    if (change.row === undefined) {
      if (change.table === 'jobs') this.#takeRemoved(change.key)
      else if (change.table === 'evaluations') this.#takeRemovedEvaluation(change.key)
      return
    }
    if (change.table === 'allocations') this.#takeAllocation(change.row)
    else if (change.table === 'evaluations') this.#takeEvaluation(change.row)
    else if (change.table === 'deployments') this.#takeDeployment(change.row)
    else if (change.table === 'jobs') this.#concern(change.row, change.row.ID)
    else if (change.table === 'job_summaries')
      this.#workOf(namespacedKey(change.row.Namespace, change.row.JobID)).summary = change.row
  }

  result(): Change[] {
    const works = [...this.#works.values()]
    for (const work of works) this.#takeStatuses(work)
    for (const work of works) if (work.isConcerned) this.#settle(work)
    const changes = this.#jobChanges()
    for (const change of this.#changes)
      if (change.row === undefined || !isOwn(change.table)) changes.push(change)
    // With those of parents that were added meanwhile.
    for (const { summary } of this.#works.values())
      if (summary !== undefined) changes.push(put('job_summaries', summary))
    return changes
  }

  /** Each job followed by its version: the two are mostly one row, which is encoded once then. */
  #jobChanges(): Change[] {
    const changes: Change[] = []
    for (const { job } of this.#works.values()) {
      if (job === undefined) continue
      const key = versionKeyOf(job)
      const version = this.#versions.get(key)
      changes.push(put('jobs', job))
      if (version !== undefined) changes.push(put('job_versions', version))
      this.#versions.delete(key)
    }
    for (const version of this.#versions.values()) changes.push(put('job_versions', version))
    return changes
  }

  /** A child that goes while it lives counts as dead from then on. */
  #takeRemoved(key: string): void {
    const job = this.#tables.jobs.find(key)
    if (job === undefined || job.ParentID === '') return
    const parent = this.#workOf(namespacedKey(job.Namespace, job.ParentID))
    if (!parent.isRemoved)
      this.#summarize(parent, (summary) => withChild(summary, job.Status, undefined))
  }

  /** A job that was only waiting for it is dead. */
  #takeRemovedEvaluation(id: string): void {
    const before = this.#tables.evaluations.find(id)
    if (before !== undefined && isOpenEvaluation(before))
      this.#concern(before, before.JobID).open -= 1
  }

  #takeAllocation(row: AllocationRow): void {
    const { allocations } = this.#tables
    // One that this commit makes is not there, and to look for an id among a million is dear.
    const isNew = row.CreateIndex > allocations.lastIndex
    const before = isNew ? undefined : allocations.find(row.ID)
    const work = this.#concern(row, row.JobID)
    work.live += Number(!isTerminal(row)) - Number(before !== undefined && !isTerminal(before))
    if (before?.ClientStatus === row.ClientStatus || this.#isEarlier(work, before)) return
    const change = {
      group: row.TaskGroup,
      before: before?.ClientStatus,
      after: row.ClientStatus,
    }
    if (work.statuses === NO_STATUSES) work.statuses = [change]
    else work.statuses.push(change)
  }

  /** One summary for all of them: a job may have a thousand in one commit. */
  #takeStatuses(work: JobWork): void {
    const { statuses } = work
    if (statuses === NO_STATUSES) return
    work.statuses = NO_STATUSES
    this.#summarize(work, (summary) => summarize(summary, statuses))
  }

  #takeDeployment(row: Deployment): void {
    const before = this.#tables.deployments.find(row.ID)
    const wasActive = before !== undefined && isActiveDeployment(before)
    const delta = Number(isActiveDeployment(row)) - Number(wasActive)
    if (delta !== 0) this.#concern(row, row.JobID).deployments += delta
  }

  /** Of a registration that was purged: the summary of the next one begins without it. */
  #isEarlier(work: JobWork, before: AllocationRow | undefined): boolean {
    if (before === undefined) return false
    const job = this.#jobOf(work)
    return job !== undefined && before.CreateIndex < job.CreateIndex
  }

  #takeEvaluation(row: Evaluation): void {
    const before = this.#tables.evaluations.find(row.ID)
    const work = this.#concern(row, row.JobID)
    const wasOpen = before !== undefined && isOpenEvaluation(before)
    work.open += Number(isOpenEvaluation(row)) - Number(wasOpen)
    work.evaluations += before === undefined ? 1 : 0
    // One that was given up no longer says what waits.
    const queued = row.Status === 'canceled' ? null : row.QueuedAllocations
    if (queued !== null) this.#summarize(work, (summary) => withQueued(summary, queued))
  }

  #concern(row: { readonly Namespace: string }, jobId: string): JobWork {
    const work = this.#workOf(namespacedKey(row.Namespace, jobId))
    work.isConcerned = true
    return work
  }

  #workOf(key: string): JobWork {
    const known = this.#works.get(key)
    if (known !== undefined) return known
    const work: JobWork = {
      key,
      job: undefined,
      summary: undefined,
      isRemoved: false,
      isConcerned: false,
      deployments: 0,
      live: 0,
      open: 0,
      evaluations: 0,
      statuses: NO_STATUSES,
    }
    this.#works.set(key, work)
    return work
  }

  #jobOf({ job, key }: JobWork): Job | undefined {
    return job ?? this.#tables.jobs.find(key)
  }

  #summarize(work: JobWork, change: (summary: JobSummary) => JobSummary): void {
    this.#takeStatuses(work)
    const job = this.#jobOf(work)
    if (job === undefined) return // purged: nobody can ask any more
    const known = work.summary ?? this.#tables.job_summaries.find(work.key)
    const before = known ?? newSummary(job)
    const after = change(before)
    if (after !== before || known === undefined) work.summary = after
  }

  #settle(work: JobWork): void {
    const { key, deployments, live, open, evaluations } = work
    const job = this.#jobOf(work)
    if (job === undefined || work.isRemoved) return
    const tables = this.#tables
    const status = jobStatus(job, {
      hasActiveDeployment: tables.deployments.countIn('active', key) + deployments > 0,
      hasLiveAllocation: tables.allocations.countIn('live', key) + live > 0,
      hasOpenEvaluation: tables.evaluations.countIn('open', key) + open > 0,
      // A dead job had one, though it may have been collected.
      hadEvaluation:
        tables.evaluations.countIn('job', key) + evaluations > 0 || job.Status === 'dead',
    })
    const before = tables.jobs.find(key)?.Status
    const settled = status === job.Status ? job : { ...job, Status: status }
    if (settled !== job) work.job = settled
    if (settled !== job || status !== before) this.#settleVersion(settled)
    if (job.ParentID !== '' && status !== before)
      this.#summarize(this.#workOf(namespacedKey(job.Namespace, job.ParentID)), (summary) =>
        withChild(summary, before, status),
      )
  }

  /**
   * The record of its version shows the same status. It is the very row of the job while that is at
   * this version.
   */
  #settleVersion(job: Job): void {
    const key = versionKeyOf(job)
    const version = this.#versions.get(key) ?? this.#tables.job_versions.find(key)
    if (version !== undefined && version.Status !== job.Status)
      this.#versions.set(key, withoutQuarantine(job))
  }
}

function versionKeyOf({ Namespace, ID, Version }: Job): string {
  return jobVersionKey(Namespace, ID, Version)
}

/** Tables whose rows may be changed here once more before they are written. */
function isOwn(table: TableName): boolean {
  return table === 'jobs' || table === 'job_versions' || table === 'job_summaries'
}
