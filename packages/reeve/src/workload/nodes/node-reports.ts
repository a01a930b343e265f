import type { AllocationUpdate, Evaluation, Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  isEqual,
  mergeReportedHealth,
  compactTaskStates,
  type AllocationRow,
  isClientTerminal,
  newEvaluation,
  expandTaskStates,
} from '../../model/index.ts'
import { isReschedulingEnabled } from '../../scheduler/index.ts'
import {
  put,
  withDerivedRows,
  type Stamp,
  type Tables,
  isOpenEvaluation,
  jobVersionKey,
  namespacedKey,
  type Change,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/** Maximum number of allocations in one commit: larger ones would delay other requests. */
const UPDATES_PER_COMMIT = 500

interface ReportBatch {
  readonly reports: NodeReport[]
  updates: number
  readonly done: PromiseWithResolvers<void>
}

/**
 * Receives the reports of all nodes. A starting job has thousands of allocations on as many nodes,
 * which report at the same time: reports of one tick share a commit, which writes each job's
 * summary once.
 */
export class NodeReportBatcher {
  readonly #context: WorkloadContext
  #currentBatch: ReportBatch | undefined

  constructor(context: WorkloadContext) {
    this.#context = context
  }

  /** Resolves when the report is durable. Rejects with the fault of the storage. */
  report(nodeId: string, updates: readonly AllocationUpdate[]): Promise<void> {
    const batch = (this.#currentBatch ??= this.#startBatch())
    batch.reports.push({ nodeId, updates })
    batch.updates += updates.length
    if (batch.updates >= UPDATES_PER_COMMIT) this.#commit(batch)
    return batch.done.promise
  }

  #startBatch(): ReportBatch {
    const batch = { reports: [], updates: 0, done: Promise.withResolvers<void>() }
    // Include all reports that have already arrived.
    setImmediate(() => this.#commit(batch))
    return batch
  }

  #commit(batch: ReportBatch): void {
    if (this.#currentBatch !== batch) return
    this.#currentBatch = undefined
    const { resolve, reject } = batch.done
    updateAllocations(this.#context, batch.reports).then(resolve, reject)
  }
}

/** Allocation updates of one node. */
interface NodeReport {
  readonly nodeId: string
  readonly updates: readonly AllocationUpdate[]
}

/**
 * Stores the allocation updates of nodes. Updates for allocations of another node are ignored.
 * Resolves when they are durable, so that the nodes may drop them.
 */
export async function updateAllocations(
  context: WorkloadContext,
  reports: readonly NodeReport[],
): Promise<void> {
  const { tables } = context.store
  const { durable } = context.store.commit({
    by: 'system',
    cause: 'AllocationUpdated',
    changes: (stamp) => {
      const changed = reports.flatMap((report) => applyReport(tables, report, stamp))
      // The later of two updates of one allocation counts: each row is written once.
      const latestByAllocation = new Map(changed.map((change) => [change.row.ID, change]))
      const latest = [...latestByAllocation.values()].filter(
        (update) => update.isInitialReport || hasChanged(update),
      )
      const allocations = latest.map(({ row }) => put('allocations', row))
      const evaluations = evaluationsForReports(context, latest.filter(hasChanged), stamp)
      return withDerivedRows(tables, [...allocations, ...evaluations])
    },
  })
  await durable
}

interface ReportedUpdate extends ReportedChange {
  /**
   * The node stays `initializing` until it has reported this allocation, so the update counts even
   * if it changes nothing.
   */
  readonly isInitialReport: boolean
}

function applyReport(
  tables: Tables,
  { nodeId, updates }: NodeReport,
  stamp: Stamp,
): ReportedUpdate[] {
  // A node sends hello first, and then the status of all allocations.
  const status = tables.nodes.find(nodeId)?.Status
  if (status === 'down' || status === 'disconnected') return []
  return updates.flatMap((update) => {
    const before = tables.allocations.find(update.ID)
    if (before === undefined || before.NodeID !== nodeId) return []
    const row = applyUpdate(before, update, stamp)
    const isAwaited = status === 'initializing' && isLive(tables, update.ID)
    return {
      before,
      row: isOrphaned(tables, row) ? stopOrphan(row, stamp) : row,
      isInitialReport: isAwaited,
    }
  })
}

function isLive({ allocations }: Tables, id: string): boolean {
  return allocations.indexKeyOf('live', id) !== undefined
}

/** Fields that a report may change, besides the modify time. */
const REPORTED_FIELDS = [
  'ClientStatus',
  'ClientDescription',
  'TaskStates',
  'NetworkStatus',
  'DeploymentStatus',
  'DesiredStatus',
] as const satisfies readonly (keyof AllocationRow)[]

/** Reports whether an update changes the row. A reconnecting node reports everything again. */
function hasChanged({ before, row }: ReportedChange): boolean {
  return REPORTED_FIELDS.some((name) => !isEqual(before[name] ?? null, row[name] ?? null))
}

/** Stops an allocation without a job, which no evaluation would do. */
function stopOrphan(row: AllocationRow, { index }: Stamp): AllocationRow {
  return {
    ...row,
    DesiredStatus: 'stop',
    DesiredDescription: 'its job is gone',
    AllocModifyIndex: index,
  }
}

function applyUpdate(row: AllocationRow, update: AllocationUpdate, stamp: Stamp): AllocationRow {
  return {
    ...row,
    ClientStatus: update.ClientStatus,
    ClientDescription: update.ClientDescription,
    TaskStates: compactTaskStates(update.TaskStates),
    ...(update.NetworkStatus === undefined ? {} : { NetworkStatus: update.NetworkStatus }),
    DeploymentStatus: mergeReportedHealth({
      row,
      clientStatus: update.ClientStatus,
      reportedStatus: isForSameDeployment(row, update) ? update.DeploymentStatus : undefined,
      ...stamp,
    }),
    ModifyTime: nsFromMs(stamp.timeMs),
    ModifyIndex: stamp.index,
  }
}

/**
 * Reports whether the deployment status applies: the allocation may have joined another deployment
 * meanwhile.
 */
function isForSameDeployment(row: AllocationRow, { DeploymentID }: AllocationUpdate): boolean {
  return DeploymentID === undefined || DeploymentID === (row.DeploymentID ?? '')
}

/** An allocation before and after a report. */
interface ReportedChange {
  readonly before: AllocationRow
  readonly row: AllocationRow
}

/** Triggers by precedence: one evaluation serves all reports about a job in one commit. */
const TRIGGERS_BY_PRECEDENCE = ['job-deregister', 'reconnect', 'alloc-failure'] as const
type ReportTrigger = (typeof TRIGGERS_BY_PRECEDENCE)[number]

interface EvaluationTrigger {
  readonly job: Job
  readonly trigger: ReportTrigger
}

/**
 * Returns the evaluations that follow from node reports: each affected job is evaluated once, and
 * evaluations that only waited for a disconnected node are cancelled.
 */
function evaluationsForReports(
  { store: { tables }, ids }: WorkloadContext,
  changes: readonly ReportedChange[],
  stamp: Stamp,
): Change[] {
  const triggers = new Map<string, EvaluationTrigger>()
  for (const change of changes) {
    const wake = triggerForReport(tables, change)
    if (wake === undefined) continue
    const key = namespacedKey(change.row.Namespace, change.row.JobID)
    const existing = triggers.get(key)
    if (existing === undefined || triggerRank(wake) < triggerRank(existing)) triggers.set(key, wake)
  }
  const created = [...triggers.values()].map(({ job, trigger }) =>
    newEvaluation(job, {
      id: ids.uuid(),
      trigger,
      timeMs: stamp.timeMs,
      jobModifyIndex: job.JobModifyIndex,
    }),
  )
  const canceled = obsoleteFollowUps(tables, changes, stamp)
  return [...created, ...canceled].map((row) => put('evaluations', row))
}

/**
 * Reports whether an allocation has ended after its job was purged, and was never stopped by the
 * servers.
 */
function isOrphaned({ jobs }: Tables, row: AllocationRow): boolean {
  const hasEndedByItself = row.DesiredStatus === 'run' && isClientTerminal(row)
  return hasEndedByItself && !jobs.has(namespacedKey(row.Namespace, row.JobID))
}

function triggerRank({ trigger }: EvaluationTrigger): number {
  return TRIGGERS_BY_PRECEDENCE.indexOf(trigger)
}

function triggerForReport(
  tables: Tables,
  { before, row }: ReportedChange,
): EvaluationTrigger | undefined {
  if (before.DesiredStatus !== 'run') return undefined
  const job = tables.jobs.find(namespacedKey(row.Namespace, row.JobID))
  if (job === undefined) {
    const last = versionOf(tables, row)
    const isOver = isOrphaned(tables, { ...row, DesiredStatus: before.DesiredStatus })
    return last !== undefined && isOver ? { job: last, trigger: 'job-deregister' } : undefined
  }
  const trigger = triggerOfChange(tables, job, { before, row })
  return trigger === undefined ? undefined : { job, trigger }
}

function triggerOfChange(
  tables: Tables,
  job: Job,
  { before, row }: ReportedChange,
): 'alloc-failure' | 'reconnect' | undefined {
  if (before.ClientStatus === 'unknown' && row.ClientStatus !== 'unknown') return 'reconnect'
  if (isClientTerminal(before)) return undefined
  if (row.ClientStatus === 'failed')
    return reschedulesFailures(job, row) ? 'alloc-failure' : undefined
  return stoppedWhileDisconnected(tables, row) || stoppedByServer(row) ? 'reconnect' : undefined
}

/**
 * Reports whether the group reschedules failed allocations; if not, an evaluation would have no
 * effect or repeat the failure.
 */
function reschedulesFailures({ TaskGroups }: Job, { TaskGroup }: AllocationRow): boolean {
  const group = TaskGroups.find(({ Name }) => Name === TaskGroup)
  return isReschedulingEnabled(group?.ReschedulePolicy ?? null)
}

/**
 * Reports whether the agent stopped the allocation because it was disconnected, and reconnected
 * before the servers had noticed: it must be replaced.
 */
function stoppedWhileDisconnected(tables: Tables, row: AllocationRow): boolean {
  if (row.ClientStatus !== 'complete' || row.JobType === 'batch') return false
  const group = versionOf(tables, row)?.TaskGroups.find((one) => one.Name === row.TaskGroup)
  return (group?.Disconnect?.StopOnClientAfter ?? null) !== null
}

/**
 * Reports whether servers had the agent stop an allocation that the state still wants: the state
 * was restored from an older snapshot, and the allocation must be replaced.
 */
function stoppedByServer({ ClientStatus, JobType, TaskStates }: AllocationRow): boolean {
  if (ClientStatus !== 'complete' || (JobType !== 'service' && JobType !== 'system')) return false
  return Object.values(expandTaskStates(TaskStates) ?? {}).some(({ Events }) => {
    // Only a stop by servers has a reason; stops within a group have another cause.
    const killing = Events.findLast(({ Type }) => Type === 'Killing')
    return Events.at(-1)?.Type === 'Killed' && (killing?.KillReason ?? '') !== ''
  })
}

/**
 * Returns the evaluations to cancel: the allocations that they would have given up are known again.
 */
function obsoleteFollowUps(
  tables: Tables,
  changes: readonly ReportedChange[],
  stamp: Stamp,
): Evaluation[] {
  const reportedIds = new Set(changes.map(({ row }) => row.ID))
  const checkedIds = new Set<string>()
  return changes.flatMap(({ before }) => {
    const id = before.ClientStatus === 'unknown' ? (before.FollowupEvalID ?? '') : ''
    const evaluation = id === '' || checkedIds.has(id) ? undefined : tables.evaluations.find(id)
    checkedIds.add(id)
    if (evaluation === undefined || !isOpenEvaluation(evaluation)) return []
    if (isNeededByOthers(tables, evaluation, reportedIds)) return []
    return {
      ...evaluation,
      Status: 'canceled' as const,
      StatusDescription: 'the disconnected allocations are back',
      ModifyTime: nsFromMs(stamp.timeMs),
    }
  })
}

function isNeededByOthers(
  { allocations }: Tables,
  { ID, Namespace, JobID }: Evaluation,
  reportedIds: ReadonlySet<string>,
): boolean {
  for (const id of allocations.keysByIndex('live', namespacedKey(Namespace, JobID))) {
    if (reportedIds.has(id)) continue
    const { ClientStatus, FollowupEvalID } = allocations.get(id)
    if (ClientStatus === 'unknown' && FollowupEvalID === ID) return true
  }
  return false
}

function versionOf({ job_versions }: Tables, row: AllocationRow): Job | undefined {
  return job_versions.find(jobVersionKey(row.Namespace, row.JobID, row.JobVersion))
}
