import type { AllocationUpdate, Job } from '@reeve/contract'
import { nsFromMs } from '../../kit/duration.ts'
import {
  isClientTerminal,
  newEvaluation,
  reportedHealth,
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
      const evaluations = reportEvaluations(context, rows, stamp)
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
    DeploymentStatus: reportedHealth({
      row,
      clientStatus: update.ClientStatus,
      status: update.DeploymentStatus,
      ...stamp,
    }),
    ModifyTime: nsFromMs(stamp.timeMs),
  }
}

interface Wake {
  readonly job: Job
  readonly trigger: 'alloc-failure' | 'reconnect'
}

/**
 * A failed allocation may have to be replaced, and one that was unknown meets those that stood in
 * for it: its job is evaluated, once per report.
 */
function reportEvaluations(
  context: WorkloadContext,
  rows: readonly AllocationRow[],
  stamp: Stamp,
): Change[] {
  const { tables } = context.store
  const wakes = new Map<string, Wake>()
  for (const row of rows) {
    const trigger = triggerOf(tables.allocations.find(row.ID), row)
    const key = namespacedKey(row.Namespace, row.JobID)
    const job = tables.jobs.find(key)
    // One evaluation serves both; that something is back says more than that something failed.
    if (trigger === undefined || job === undefined || wakes.get(key)?.trigger === 'reconnect')
      continue
    wakes.set(key, { job, trigger })
  }
  return [...wakes.values()].map(({ job, trigger }) =>
    put(
      'evaluations',
      newEvaluation(job, {
        id: context.ids.uuid(),
        trigger,
        timeMs: stamp.timeMs,
        jobModifyIndex: job.JobModifyIndex,
      }),
    ),
  )
}

/** Scheduling reference §2. */
function triggerOf(
  before: AllocationRow | undefined,
  row: AllocationRow,
): Wake['trigger'] | undefined {
  if (row.DesiredStatus !== 'run') return undefined
  if (before?.ClientStatus === 'unknown' && row.ClientStatus !== 'unknown') return 'reconnect'
  const isNew = before === undefined || !isClientTerminal(before)
  return row.ClientStatus === 'failed' && isNew ? 'alloc-failure' : undefined
}
