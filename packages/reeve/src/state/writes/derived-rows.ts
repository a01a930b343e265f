import type { Deployment, Evaluation, Job, JobSummary } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  isActiveDeployment,
  isTerminal,
  jobStatus,
  newSummary,
  applyStatusChanges,
  countChild,
  withoutQuarantine,
  withQueued,
  type AllocationRow,
  type StatusChange,
  applyToCounters,
  affectsCounters,
  type AllocationChange,
  isClientTerminal,
} from '../../model/index.ts'
import { put, type Change, remove } from '../store.ts'
import {
  isOpenEvaluation,
  jobVersionKey,
  namespacedKey,
  type TableName,
  type Tables,
} from '../schema/tables.ts'

/**
 * Adds the rows derived from changes of jobs, evaluations, allocations and deployments: deployment
 * counters, status and summary of the affected jobs, and deleted services. Every commit of such
 * changes must pass through here to keep status and counts correct. Unchanged rows cost nothing.
 */
export function withDerivedRows(tables: Tables, changes: readonly Change[]): Change[] {
  const allChanges = withDeploymentRows(tables, changes)
  const derived = new DerivedRows(tables, allChanges)
  for (const change of allChanges) derived.add(change)
  return withServiceRows(tables, derived.result())
}

/** Effect of the changes on one job. */
interface JobDelta {
  readonly key: string
  /** New values of the job and its summary, if they are written. */
  job: Job | undefined
  summary: JobSummary | undefined
  isRemoved: boolean
  /** True if a change affects the status of the job. */
  needsStatus: boolean
  /** Changes of the numbers of live allocations, open evaluations and active deployments. */
  activeDeploymentDelta: number
  liveAllocationDelta: number
  openEvaluationDelta: number
  newEvaluationCount: number
  /** Allocation status changes that are not in the summary yet. */
  statusChanges: StatusChange[]
}

const NO_STATUS_CHANGES: StatusChange[] = []

class DerivedRows {
  readonly #tables: Tables
  readonly #changes: readonly Change[]
  readonly #deltas = new Map<string, JobDelta>()
  readonly #versions = new Map<string, Job>()

  constructor(tables: Tables, changes: readonly Change[]) {
    this.#tables = tables
    this.#changes = changes
    for (const change of changes)
      if (change.table === 'jobs' && change.row === undefined)
        this.#deltaOf(change.key).isRemoved = true
      else if (change.table === 'jobs' && change.row !== undefined)
        this.#deltaOf(namespacedKey(change.row.Namespace, change.row.ID)).job = change.row
      else if (change.table === 'job_versions' && change.row !== undefined)
        this.#versions.set(versionKeyOf(change.row), change.row)
  }

  add(change: Change): void {
    if (change.row === undefined) {
      if (change.table === 'jobs') this.#addRemovedJob(change.key)
      else if (change.table === 'evaluations') this.#addRemovedEvaluation(change.key)
      return
    }
    if (change.table === 'allocations') this.#addAllocation(change.row)
    else if (change.table === 'evaluations') this.#addEvaluation(change.row)
    else if (change.table === 'deployments') this.#addDeployment(change.row)
    else if (change.table === 'jobs') this.#touch(change.row, change.row.ID)
    else if (change.table === 'job_summaries')
      this.#deltaOf(namespacedKey(change.row.Namespace, change.row.JobID)).summary = change.row
  }

  result(): Change[] {
    const deltas = [...this.#deltas.values()]
    for (const delta of deltas) this.#applyStatusChanges(delta)
    for (const delta of deltas) if (delta.needsStatus) this.#updateStatus(delta)
    const changes = this.#jobChanges()
    for (const change of this.#changes)
      if (change.row === undefined || !isDerivedTable(change.table)) changes.push(change)
    // Includes summaries of parents that were added meanwhile.
    for (const { summary } of this.#deltas.values())
      if (summary !== undefined) changes.push(put('job_summaries', summary))
    return changes
  }

  /**
   * Each job is followed by its version: the two are usually the same row, which is then encoded
   * once.
   */
  #jobChanges(): Change[] {
    const changes: Change[] = []
    for (const { job } of this.#deltas.values()) {
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

  /** A child that is purged while running counts as dead. */
  #addRemovedJob(key: string): void {
    const job = this.#tables.jobs.find(key)
    if (job === undefined || job.ParentID === '') return
    const parent = this.#deltaOf(namespacedKey(job.Namespace, job.ParentID))
    if (!parent.isRemoved)
      this.#summarize(parent, (summary) => countChild(summary, job.Status, undefined))
  }

  /** Deleting an open evaluation may make a job dead that was only waiting for it. */
  #addRemovedEvaluation(id: string): void {
    const before = this.#tables.evaluations.find(id)
    if (before !== undefined && isOpenEvaluation(before))
      this.#touch(before, before.JobID).openEvaluationDelta -= 1
  }

  #addAllocation(row: AllocationRow): void {
    const { allocations } = this.#tables
    // A new allocation cannot exist yet, and looking up an ID among a million is expensive.
    const isNew = row.CreateIndex > allocations.lastIndex
    const before = isNew ? undefined : allocations.find(row.ID)
    const delta = this.#touch(row, row.JobID)
    delta.liveAllocationDelta +=
      Number(!isTerminal(row)) - Number(before !== undefined && !isTerminal(before))
    if (before?.ClientStatus === row.ClientStatus || this.#belongsToEarlierJob(delta, before))
      return
    const change = {
      group: row.TaskGroup,
      before: before?.ClientStatus,
      after: row.ClientStatus,
    }
    if (delta.statusChanges === NO_STATUS_CHANGES) delta.statusChanges = [change]
    else delta.statusChanges.push(change)
  }

  /** Creates one summary for all changes: a commit may contain a thousand of them for one job. */
  #applyStatusChanges(delta: JobDelta): void {
    const { statusChanges } = delta
    if (statusChanges === NO_STATUS_CHANGES) return
    delta.statusChanges = NO_STATUS_CHANGES
    this.#summarize(delta, (summary) => applyStatusChanges(summary, statusChanges))
  }

  #addDeployment(row: Deployment): void {
    const before = this.#tables.deployments.find(row.ID)
    const wasActive = before !== undefined && isActiveDeployment(before)
    const delta = Number(isActiveDeployment(row)) - Number(wasActive)
    if (delta !== 0) this.#touch(row, row.JobID).activeDeploymentDelta += delta
  }

  /**
   * True for allocations of an earlier job that was purged: the current summary does not include
   * them.
   */
  #belongsToEarlierJob(delta: JobDelta, before: AllocationRow | undefined): boolean {
    if (before === undefined) return false
    const job = this.#jobOf(delta)
    return job !== undefined && before.CreateIndex < job.CreateIndex
  }

  #addEvaluation(row: Evaluation): void {
    const before = this.#tables.evaluations.find(row.ID)
    const delta = this.#touch(row, row.JobID)
    const wasOpen = before !== undefined && isOpenEvaluation(before)
    delta.openEvaluationDelta += Number(isOpenEvaluation(row)) - Number(wasOpen)
    delta.newEvaluationCount += before === undefined ? 1 : 0
    // A canceled evaluation no longer reports queued allocations.
    const queued = row.Status === 'canceled' ? null : row.QueuedAllocations
    if (queued !== null) this.#summarize(delta, (summary) => withQueued(summary, queued))
  }

  #touch(row: { readonly Namespace: string }, jobId: string): JobDelta {
    const delta = this.#deltaOf(namespacedKey(row.Namespace, jobId))
    delta.needsStatus = true
    return delta
  }

  #deltaOf(key: string): JobDelta {
    const existing = this.#deltas.get(key)
    if (existing !== undefined) return existing
    const delta: JobDelta = {
      key,
      job: undefined,
      summary: undefined,
      isRemoved: false,
      needsStatus: false,
      activeDeploymentDelta: 0,
      liveAllocationDelta: 0,
      openEvaluationDelta: 0,
      newEvaluationCount: 0,
      statusChanges: NO_STATUS_CHANGES,
    }
    this.#deltas.set(key, delta)
    return delta
  }

  #jobOf({ job, key }: JobDelta): Job | undefined {
    return job ?? this.#tables.jobs.find(key)
  }

  #summarize(delta: JobDelta, change: (summary: JobSummary) => JobSummary): void {
    this.#applyStatusChanges(delta)
    const job = this.#jobOf(delta)
    if (job === undefined) return // purged: the summary is not visible any more
    const existing = delta.summary ?? this.#tables.job_summaries.find(delta.key)
    const before = existing ?? newSummary(job)
    const after = change(before)
    if (after !== before || existing === undefined) delta.summary = after
  }

  #updateStatus(delta: JobDelta): void {
    const {
      key,
      activeDeploymentDelta,
      liveAllocationDelta,
      openEvaluationDelta,
      newEvaluationCount,
    } = delta
    const job = this.#jobOf(delta)
    if (job === undefined || delta.isRemoved) return
    const tables = this.#tables
    const status = jobStatus(job, {
      hasActiveDeployment:
        tables.deployments.countByIndex('active', key) + activeDeploymentDelta > 0,
      hasLiveAllocation: tables.allocations.countByIndex('live', key) + liveAllocationDelta > 0,
      hasOpenEvaluation: tables.evaluations.countByIndex('open', key) + openEvaluationDelta > 0,
      // A dead job had one, even if it was garbage collected.
      hadEvaluation:
        tables.evaluations.countByIndex('job', key) + newEvaluationCount > 0 ||
        job.Status === 'dead',
    })
    const before = tables.jobs.find(key)?.Status
    const updatedJob = status === job.Status ? job : { ...job, Status: status }
    if (updatedJob !== job) delta.job = updatedJob
    if (updatedJob !== job || status !== before) this.#updateVersionStatus(updatedJob)
    if (job.ParentID !== '' && status !== before)
      this.#summarize(this.#deltaOf(namespacedKey(job.Namespace, job.ParentID)), (summary) =>
        countChild(summary, before, status),
      )
  }

  /**
   * Copies the status to the version, which equals the job row while the job is at that version.
   */
  #updateVersionStatus(job: Job): void {
    const key = versionKeyOf(job)
    const version = this.#versions.get(key) ?? this.#tables.job_versions.find(key)
    if (version !== undefined && version.Status !== job.Status)
      this.#versions.set(key, withoutQuarantine(job))
  }
}

function versionKeyOf({ Namespace, ID, Version }: Job): string {
  return jobVersionKey(Namespace, ID, Version)
}

/** True for tables whose rows are modified here before they are written. */
function isDerivedTable(table: TableName): boolean {
  return table === 'jobs' || table === 'job_versions' || table === 'job_summaries'
}

/**
 * Adds the derived changes of deployments: updated counters, and the Stable flag of a version whose
 * deployment succeeded. Rows without a deployment cost nothing.
 */
function withDeploymentRows(tables: Tables, changes: readonly Change[]): readonly Change[] {
  if (!changes.some(affectsDeployments)) return changes
  const changedAllocations = changedAllocationsByDeployment(tables, changes)
  const written = writtenDeployments(changes)
  if (changedAllocations.size === 0 && written.size === 0) return changes
  const removed = removedDeployments(changes)
  for (const [id, allocations] of changedAllocations) {
    const deployment = written.get(id) ?? tables.deployments.find(id)
    if (deployment === undefined || removed.has(id)) continue
    const counted = applyToCounters(deployment, allocations)
    if (counted !== deployment) written.set(id, counted)
  }
  const rest = changes.filter(({ table, row }) => table !== 'deployments' || row === undefined)
  const stable = [...written.values()].flatMap((row) => markStableRows(tables, rest, row))
  return [...rest, ...[...written.values()].map((row) => put('deployments', row)), ...stable]
}

/** True for a deployment or an allocation of one; most commits write neither. */
function affectsDeployments(change: Change): boolean {
  if (change.table === 'deployments') return true
  return change.table === 'allocations' && (change.row?.DeploymentID ?? '') !== ''
}

/** Allocations that joined a deployment or whose health changed, by deployment. */
function changedAllocationsByDeployment(
  tables: Tables,
  changes: readonly Change[],
): ReadonlyMap<string, AllocationChange[]> {
  const moved = new Map<string, AllocationChange[]>()
  for (const change of changes) {
    if (change.table !== 'allocations' || change.row === undefined) continue
    const after = change.row
    const id = after.DeploymentID ?? ''
    if (id === '') continue
    const allocationChange = { before: tables.allocations.find(after.ID), after }
    if (!affectsCounters(allocationChange)) continue
    const existing = moved.get(id)
    if (existing === undefined) moved.set(id, [allocationChange])
    else existing.push(allocationChange)
  }
  return moved
}

function writtenDeployments(changes: readonly Change[]): Map<string, Deployment> {
  const written = new Map<string, Deployment>()
  for (const change of changes)
    if (change.table === 'deployments' && change.row !== undefined)
      written.set(change.row.ID, change.row)
  return written
}

function removedDeployments(changes: readonly Change[]): ReadonlySet<string> {
  return new Set(
    changes.flatMap((change) =>
      change.table === 'deployments' && change.row === undefined ? [change.key] : [],
    ),
  )
}

/** Marks the version as stable, and the job itself if it is still at that version. */
function markStableRows(
  tables: Tables,
  changes: readonly Change[],
  deployment: Deployment,
): readonly Change[] {
  const { Namespace, JobID, JobVersion } = deployment
  const before = tables.deployments.find(deployment.ID)
  if (deployment.Status !== 'successful' || before?.Status === 'successful') return []
  const job = findJob(tables, changes, deployment)
  const version = tables.job_versions.find(jobVersionKey(Namespace, JobID, JobVersion))
  const isUnstableVersion = (row: Job | undefined): row is Job =>
    row?.Version === JobVersion && row.CreateIndex === deployment.JobCreateIndex && !row.Stable
  return [
    ...(isUnstableVersion(job) ? [put('jobs', { ...job, Stable: true })] : []),
    ...(isUnstableVersion(version) ? [put('job_versions', { ...version, Stable: true })] : []),
  ]
}

/** The job after the changes; undefined if they delete it. */
function findJob(
  tables: Tables,
  changes: readonly Change[],
  { Namespace, JobID }: Deployment,
): Job | undefined {
  const key = namespacedKey(Namespace, JobID)
  const change = changes.findLast(
    (one) =>
      one.table === 'jobs' &&
      (one.row === undefined ? one.key : namespacedKey(one.row.Namespace, one.row.ID)) === key,
  )
  if (change?.table !== 'jobs') return tables.jobs.find(key)
  return change.row
}

/**
 * Adds deletes of the services that belong to ended allocations and removed nodes, in the same
 * commit, so that no request is sent to an ended allocation.
 */
export function withServiceRows(tables: Tables, changes: readonly Change[]): Change[] {
  const table = tables.service_registrations
  if (table.size === 0) return [...changes]
  const keys = new Set<string>()
  const collect = (index: 'allocation' | 'node', group: string): void => {
    for (const key of table.keysByIndex(index, group)) keys.add(key)
  }
  for (const change of changes) {
    if (change.table === 'allocations') {
      if (change.row === undefined) collect('allocation', change.key)
      else if (isClientTerminal(change.row)) collect('allocation', change.row.ID)
    } else if (change.table === 'nodes' && change.row === undefined) collect('node', change.key)
  }
  const removals = [...keys]
    .toSorted(compareText)
    .map((key) => remove('service_registrations', key))
  return [...changes, ...removals]
}
