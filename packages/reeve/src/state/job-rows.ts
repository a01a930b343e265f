import type { Evaluation, Job, JobSummary } from '@reeve/contract'
import {
  isTerminal,
  jobStatus,
  newSummary,
  summarize,
  withChild,
  withQueued,
  type AllocationRow,
} from '../model/index.ts'
import { put, type Change } from './store.ts'
import { isOpenEvaluation, namespacedKey, type Tables } from './tables.ts'

/**
 * Completes changes of jobs, evaluations and allocations by the rows that follow from them: the
 * status of each job concerned and its summary. Whoever commits such changes passes them through
 * here, so that status and counts are never wrong by omission. Costs nothing per row that stays.
 */
export function withJobRows(tables: Tables, changes: readonly Change[]): Change[] {
  const work = new Completion(tables, changes)
  for (const change of changes) work.take(change)
  return work.result()
}

interface JobDelta {
  readonly key: string
  /** Live allocations and open evaluations that the changes add or take away. */
  live: number
  open: number
  evaluations: number
}

class Completion {
  readonly #tables: Tables
  readonly #changes: readonly Change[]
  readonly #deltas = new Map<string, JobDelta>()
  readonly #jobs = new Map<string, Job>()
  readonly #summaries = new Map<string, JobSummary>()

  constructor(tables: Tables, changes: readonly Change[]) {
    this.#tables = tables
    this.#changes = changes
    for (const change of changes)
      if (change.table === 'jobs' && change.row !== undefined)
        this.#jobs.set(namespacedKey(change.row.Namespace, change.row.ID), change.row)
  }

  take(change: Change): void {
    if (change.row === undefined) return
    if (change.table === 'allocations') this.#takeAllocation(change.row)
    else if (change.table === 'evaluations') this.#takeEvaluation(change.row)
    else if (change.table === 'jobs') this.#deltaOf(change.row, change.row.ID)
    else if (change.table === 'job_summaries')
      this.#summaries.set(namespacedKey(change.row.Namespace, change.row.JobID), change.row)
  }

  result(): Change[] {
    for (const delta of this.#deltas.values()) this.#settle(delta)
    const kept = this.#changes.filter(
      ({ table, row }) => row === undefined || (table !== 'jobs' && table !== 'job_summaries'),
    )
    return [
      ...[...this.#jobs.values()].map((job) => put('jobs', job)),
      ...kept,
      ...[...this.#summaries.values()].map((summary) => put('job_summaries', summary)),
    ]
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
    this.#summarize(delta.key, (summary) => summarize(summary, [change]))
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
    const delta = { key, live: 0, open: 0, evaluations: 0 }
    this.#deltas.set(key, delta)
    return delta
  }

  #summarize(key: string, change: (summary: JobSummary) => JobSummary): void {
    const job = this.#jobs.get(key) ?? this.#tables.jobs.find(key)
    if (job === undefined) return // purged: nobody can ask any more
    const known = this.#summaries.get(key) ?? this.#tables.job_summaries.find(key)
    const before = known ?? newSummary(job)
    const after = change(before)
    if (after !== before || known === undefined) this.#summaries.set(key, after)
  }

  #settle({ key, live, open, evaluations }: JobDelta): void {
    const job = this.#jobs.get(key) ?? this.#tables.jobs.find(key)
    if (job === undefined || this.#isRemoved(key)) return
    const tables = this.#tables
    const status = jobStatus(job, {
      hasActiveDeployment: tables.deployments.countIn('active', key) > 0,
      hasLiveAllocation: tables.allocations.countIn('live', key) + live > 0,
      hasOpenEvaluation: tables.evaluations.countIn('open', key) + open > 0,
      hadEvaluation: tables.evaluations.countIn('job', key) + evaluations > 0,
    })
    const before = tables.jobs.find(key)?.Status
    if (status !== job.Status) this.#jobs.set(key, { ...job, Status: status })
    if (job.ParentID !== '' && status !== before)
      this.#summarize(namespacedKey(job.Namespace, job.ParentID), (summary) =>
        withChild(summary, before, status),
      )
  }

  #isRemoved(key: string): boolean {
    return this.#changes.some(
      (change) => change.table === 'jobs' && change.row === undefined && change.key === key,
    )
  }
}
