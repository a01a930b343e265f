import type { Deployment, Evaluation, Job, JobSummary } from '@reeve/contract'
import {
  isActiveDeployment,
  isTerminal,
  jobStatus,
  newSummary,
  summarize,
  withChild,
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
 * that go. Whoever
 * commits such changes passes them through here, so that status and counts are never wrong by
 * omission. Costs nothing per row that stays.
 */
export function withJobRows(tables: Tables, changes: readonly Change[]): Change[] {
  const all = withDeploymentRows(tables, changes)
  const work = new Completion(tables, all)
  for (const change of all) work.take(change)
  return withServiceRows(tables, work.result())
}

interface JobDelta {
  readonly key: string
  /** Live allocations and the like that the changes add or take away. */
  deployments: number
  live: number
  open: number
  evaluations: number
}

class Completion {
  readonly #tables: Tables
  readonly #changes: readonly Change[]
  readonly #deltas = new Map<string, JobDelta>()
  readonly #jobs = new Map<string, Job>()
  readonly #versions = new Map<string, Job>()
  readonly #summaries = new Map<string, JobSummary>()
  readonly #removed = new Set<string>()
  /** What happened to allocations of each job and is not in its summary yet. */
  readonly #statuses = new Map<string, StatusChange[]>()

  constructor(tables: Tables, changes: readonly Change[]) {
    this.#tables = tables
    this.#changes = changes
    for (const change of changes)
      if (change.table === 'jobs' && change.row === undefined) this.#removed.add(change.key)
      else if (change.table === 'jobs' && change.row !== undefined)
        this.#jobs.set(namespacedKey(change.row.Namespace, change.row.ID), change.row)
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
    else if (change.table === 'jobs') this.#deltaOf(change.row, change.row.ID)
    else if (change.table === 'job_summaries')
      this.#summaries.set(namespacedKey(change.row.Namespace, change.row.JobID), change.row)
  }

  result(): Change[] {
    for (const key of this.#statuses.keys()) this.#takeStatuses(key)
    for (const delta of this.#deltas.values()) this.#settle(delta)
    const kept = this.#changes.filter(({ table, row }) => row === undefined || !isOwn(table))
    return [
      ...this.#jobChanges(),
      ...kept,
      ...[...this.#summaries.values()].map((summary) => put('job_summaries', summary)),
    ]
  }

  /** Each job followed by its version: the two are mostly one row, which is encoded once then. */
  #jobChanges(): Change[] {
    const rest = new Map(this.#versions)
    const changes: Change[] = []
    for (const job of this.#jobs.values()) {
      const key = versionKeyOf(job)
      const version = rest.get(key)
      changes.push(put('jobs', job))
      if (version !== undefined) changes.push(put('job_versions', version))
      rest.delete(key)
    }
    for (const version of rest.values()) changes.push(put('job_versions', version))
    return changes
  }

  /** A child that goes while it lives counts as dead from then on (scheduling reference §18). */
  #takeRemoved(key: string): void {
    const job = this.#tables.jobs.find(key)
    if (job === undefined || job.ParentID === '') return
    const parent = namespacedKey(job.Namespace, job.ParentID)
    if (!this.#isRemoved(parent))
      this.#summarize(parent, (summary) => withChild(summary, job.Status, undefined))
  }

  /** Scheduling reference §1.1, rule 5: what was only waited for by it is dead. */
  #takeRemovedEvaluation(id: string): void {
    const before = this.#tables.evaluations.find(id)
    if (before !== undefined && isOpenEvaluation(before))
      this.#deltaOf(before, before.JobID).open -= 1
  }

  #takeAllocation(row: AllocationRow): void {
    const before = this.#tables.allocations.find(row.ID)
    const delta = this.#deltaOf(row, row.JobID)
    delta.live += Number(!isTerminal(row)) - Number(before !== undefined && !isTerminal(before))
    if (before?.ClientStatus === row.ClientStatus || this.#isEarlier(delta.key, before)) return
    const change = {
      group: row.TaskGroup,
      before: before?.ClientStatus,
      after: row.ClientStatus,
    }
    const known = this.#statuses.get(delta.key)
    if (known === undefined) this.#statuses.set(delta.key, [change])
    else known.push(change)
  }

  /** One summary for all of them: a job may have a thousand in one commit. */
  #takeStatuses(key: string): void {
    const changes = this.#statuses.get(key)
    if (changes === undefined) return
    this.#statuses.delete(key)
    this.#summarize(key, (summary) => summarize(summary, changes))
  }

  #takeDeployment(row: Deployment): void {
    const before = this.#tables.deployments.find(row.ID)
    const wasActive = before !== undefined && isActiveDeployment(before)
    const delta = Number(isActiveDeployment(row)) - Number(wasActive)
    if (delta !== 0) this.#deltaOf(row, row.JobID).deployments += delta
  }

  /** Of a registration that was purged: the summary of the next one begins without it. */
  #isEarlier(key: string, before: AllocationRow | undefined): boolean {
    const job = this.#jobs.get(key) ?? this.#tables.jobs.find(key)
    return before !== undefined && job !== undefined && before.CreateIndex < job.CreateIndex
  }

  #takeEvaluation(row: Evaluation): void {
    const before = this.#tables.evaluations.find(row.ID)
    const delta = this.#deltaOf(row, row.JobID)
    const wasOpen = before !== undefined && isOpenEvaluation(before)
    delta.open += Number(isOpenEvaluation(row)) - Number(wasOpen)
    delta.evaluations += before === undefined ? 1 : 0
    // One that was given up no longer says what waits.
    const queued = row.Status === 'canceled' ? null : row.QueuedAllocations
    if (queued !== null) this.#summarize(delta.key, (summary) => withQueued(summary, queued))
  }

  #deltaOf(row: { readonly Namespace: string }, jobId: string): JobDelta {
    const key = namespacedKey(row.Namespace, jobId)
    const known = this.#deltas.get(key)
    if (known !== undefined) return known
    const delta = { key, deployments: 0, live: 0, open: 0, evaluations: 0 }
    this.#deltas.set(key, delta)
    return delta
  }

  #summarize(key: string, change: (summary: JobSummary) => JobSummary): void {
    this.#takeStatuses(key)
    const job = this.#jobs.get(key) ?? this.#tables.jobs.find(key)
    if (job === undefined) return // purged: nobody can ask any more
    const known = this.#summaries.get(key) ?? this.#tables.job_summaries.find(key)
    const before = known ?? newSummary(job)
    const after = change(before)
    if (after !== before || known === undefined) this.#summaries.set(key, after)
  }

  #settle({ key, deployments, live, open, evaluations }: JobDelta): void {
    const job = this.#jobs.get(key) ?? this.#tables.jobs.find(key)
    if (job === undefined || this.#isRemoved(key)) return
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
    if (settled !== job) this.#jobs.set(key, settled)
    if (settled !== job || status !== before) this.#settleVersion(settled)
    if (job.ParentID !== '' && status !== before)
      this.#summarize(namespacedKey(job.Namespace, job.ParentID), (summary) =>
        withChild(summary, before, status),
      )
  }

  /**
   * Scheduling reference §1.1: the record of its version shows the same status. It is the very row
   * of the job while that is at this version.
   */
  #settleVersion(job: Job): void {
    const key = versionKeyOf(job)
    const version = this.#versions.get(key) ?? this.#tables.job_versions.find(key)
    if (version !== undefined && version.Status !== job.Status) this.#versions.set(key, job)
  }

  #isRemoved(key: string): boolean {
    return this.#removed.has(key)
  }
}

function versionKeyOf({ Namespace, ID, Version }: Job): string {
  return jobVersionKey(Namespace, ID, Version)
}

/** Tables whose rows may be changed here once more before they are written. */
function isOwn(table: TableName): boolean {
  return table === 'jobs' || table === 'job_versions' || table === 'job_summaries'
}
