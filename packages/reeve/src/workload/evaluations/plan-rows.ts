import { isDeepStrictEqual } from 'node:util'
import type { Evaluation } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'
import type { Plan } from '../../scheduler/index.ts'
import { namespacedKey, put, type Change, type Stamp, type Tables } from '../../state/index.ts'

/**
 * Returns the rows of a plan for one commit. A job has at most one blocked evaluation: an older one
 * is cancelled.
 */
export function planRows(tables: Tables, plan: Plan, stamp: Stamp): Change[] {
  const deployments = [
    ...(plan.deployment === undefined ? [] : [plan.deployment]),
    ...plan.deploymentUpdates,
  ]
  const evaluations = [
    plan.evaluation,
    ...plan.followUpEvaluations,
    ...(plan.blockedEvaluation === undefined ? [] : [plan.blockedEvaluation]),
    ...supersededBlockedEvaluations(tables, plan, stamp),
  ]
  return [
    ...deployments.map((row) => put('deployments', row)),
    ...changedAllocations(plan).map((row) => put('allocations', withCommitIndex(row, stamp))),
    ...evaluations.map((row) => put('evaluations', row)),
  ]
}

/** Reports whether the plan changes anything but its own evaluation. */
export function changesState(plan: Plan): boolean {
  const isDeploying = plan.deployment !== undefined || plan.deploymentUpdates.length > 0
  return isDeploying || changedAllocations(plan).length > 0
}

/**
 * Reports whether a blocked evaluation remains blocked for the same reasons, so that it need not be
 * written. A new leader reevaluates all blocked ones.
 */
export function isBlockedForSameReasons(previous: Evaluation, { evaluation }: Plan): boolean {
  const isWaiting = previous.Status === 'blocked' && evaluation.Status === 'blocked'
  return isWaiting && isDeepStrictEqual(blockedReasons(previous), blockedReasons(evaluation))
}

/** Removes the fields that differ between attempts. */
function blockedReasons({ FailedTGAllocs, ...evaluation }: Evaluation): object {
  const { SnapshotIndex: _snapshot, ModifyIndex: _index, ModifyTime: _time, ...rest } = evaluation
  const failed = Object.entries(FailedTGAllocs ?? {}).map(([group, metrics]) => {
    const { AllocationTime: _took, ...found } = metrics
    return [group, found] as const
  })
  return { ...rest, failed: Object.fromEntries(failed) }
}

function changedAllocations(plan: Plan): readonly AllocationRow[] {
  const { placements, stops, updates, attributeUpdates, preemptions } = plan
  return [...placements, ...stops, ...updates, ...attributeUpdates, ...preemptions]
}

function withCommitIndex(row: AllocationRow, { index }: Stamp): AllocationRow {
  // Includes the fields that the store would set, so that it need not copy the row again.
  const stamps = { CreateIndex: row.CreateIndex || index, ModifyIndex: index }
  const written = { ...row, ...stamps, AllocModifyIndex: index }
  const status = row.DeploymentStatus
  // Index 0 marks a status that the plan itself created.
  if (status?.ModifyIndex !== 0) return written
  return { ...written, DeploymentStatus: { ...status, ModifyIndex: index } }
}

function supersededBlockedEvaluations(tables: Tables, plan: Plan, stamp: Stamp): Evaluation[] {
  const { evaluation, blockedEvaluation } = plan
  const current = new Set([evaluation.ID, blockedEvaluation?.ID])
  const key = namespacedKey(evaluation.Namespace, evaluation.JobID)
  return [...tables.evaluations.keysByIndex('open', key)]
    .filter((id) => !current.has(id))
    .map((id) => tables.evaluations.get(id))
    .filter((other) => other.Status === 'blocked')
    .map((other) => ({
      ...other,
      Status: 'canceled' as const,
      StatusDescription: `superseded by evaluation "${evaluation.ID}"`,
      ModifyTime: nsFromMs(stamp.timeMs),
    }))
}
