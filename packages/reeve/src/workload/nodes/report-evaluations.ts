import type { Evaluation, Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  isClientTerminal,
  newEvaluation,
  expandTaskStates,
  type AllocationRow,
} from '../../model/index.ts'
import { isReschedulingEnabled } from '../../scheduler/index.ts'
import {
  isOpenEvaluation,
  jobVersionKey,
  namespacedKey,
  put,
  type Change,
  type Stamp,
  type Tables,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/** An allocation before and after a report. */
export interface ReportedChange {
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
export function evaluationsForReports(
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
export function isOrphaned({ jobs }: Tables, row: AllocationRow): boolean {
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
