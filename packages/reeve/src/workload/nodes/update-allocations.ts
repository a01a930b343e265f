import type { AllocationUpdate, Job } from '@reeve/contract'
import { nsFromMs } from '../../kit/duration.ts'
import {
  isClientTerminal,
  newEvaluation,
  storeTaskStates,
  type AllocationRow,
} from '../../model/index.ts'
import { namespacedKey, put, withJobRows, type Change, type Stamp } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/**
 * A node reports how its allocations stand. Only its own count; what it says of others is ignored.
 * Resolves when the report is durable, so that the node may forget it.
 */
export async function updateAllocations(
  context: WorkloadContext,
  nodeId: string,
  updates: readonly AllocationUpdate[],
): Promise<void> {
  const { tables } = context.store
  const { durable } = context.store.commit({
    cause: 'AllocationUpdated',
    changes: (stamp) => {
      const rows = updates.flatMap((update) => {
        const row = tables.allocations.find(update.ID)
        return row === undefined || row.NodeID !== nodeId ? [] : [reported(row, update, stamp)]
      })
      const allocations = rows.map((row) => put('allocations', row))
      const evaluations = failureEvaluations(context, rows, stamp)
      return withJobRows(tables, [...allocations, ...evaluations])
    },
  })
  await durable
}

function reported(row: AllocationRow, update: AllocationUpdate, stamp: Stamp): AllocationRow {
  return {
    ...row,
    ClientStatus: update.ClientStatus,
    ClientDescription: update.ClientDescription,
    TaskStates: storeTaskStates(update.TaskStates),
    DeploymentStatus: update.DeploymentStatus ?? row.DeploymentStatus,
    ModifyTime: nsFromMs(stamp.timeMs),
  }
}

/** A failed allocation may have to be replaced: its job is evaluated, once per report. */
function failureEvaluations(
  context: WorkloadContext,
  rows: readonly AllocationRow[],
  stamp: Stamp,
): Change[] {
  const { tables } = context.store
  const jobs = new Map<string, Job>()
  for (const row of rows) {
    const before = tables.allocations.find(row.ID)
    const isNew = before === undefined || !isClientTerminal(before)
    const key = namespacedKey(row.Namespace, row.JobID)
    const job = tables.jobs.find(key)
    if (row.ClientStatus === 'failed' && row.DesiredStatus === 'run' && isNew && job !== undefined)
      jobs.set(key, job)
  }
  return [...jobs.values()].map((job) =>
    put(
      'evaluations',
      newEvaluation(job, {
        id: context.ids.uuid(),
        trigger: 'alloc-failure',
        timeMs: stamp.timeMs,
        jobModifyIndex: job.JobModifyIndex,
      }),
    ),
  )
}
