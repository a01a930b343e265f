import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  checkUuid,
  newEvaluation,
  PERMISSION_DENIED,
  refusal,
  type AllocationRow,
  type Refusal,
} from '../../model/index.ts'
import { namespacedKey, put, withDerivedRows, type Change, type Stamp } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'

export interface StopAllocationRequest {
  readonly allocId: string
  /** Skip the shutdown delays of group and tasks. */
  readonly noShutdownDelay: boolean
  /** Count the replacement as a reschedule. */
  readonly reschedule: boolean
}

export interface StopAllocationResult {
  /** Empty if the job no longer exists. */
  readonly evalId: string
  readonly index: number
}

/**
 * Marks an allocation to be migrated and creates an evaluation of its job, which stops the
 * allocation and places a replacement. A terminal allocation is accepted and has no effect.
 */
export async function stopAllocation(
  { store, view, ids }: WorkloadContext,
  { grants, by }: RequestCaller,
  request: StopAllocationRequest,
): Promise<Result<StopAllocationResult, Refusal>> {
  const id = checkUuid('alloc', request.allocId)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const row = store.tables.allocations.find(id.value)
  if (row === undefined) return err(refusal('alloc-not-found', 'allocation not found'))
  // Allocation IDs are global, so permissions are checked in the allocation's own namespace.
  if (!grants.allows(row.Namespace, 'alloc-lifecycle')) return err(PERMISSION_DENIED)
  const job =
    store.tables.jobs.find(namespacedKey(row.Namespace, row.JobID)) ?? view.jobVersionOf(row)
  const evalId = job === undefined ? '' : ids.uuid()
  const { index, durable } = store.commit({
    by,
    cause: 'AllocationUpdateDesiredStatus',
    changes: (stamp) => {
      const changes: Change[] = [put('allocations', withMigrateTransition(row, request, stamp))]
      if (job !== undefined)
        changes.push(
          put(
            'evaluations',
            newEvaluation(job, {
              id: evalId,
              trigger: 'alloc-stop',
              timeMs: stamp.timeMs,
              jobModifyIndex: job.JobModifyIndex,
            }),
          ),
        )
      return withDerivedRows(store.tables, changes)
    },
  })
  await durable
  return ok({ evalId, index })
}

function withMigrateTransition(
  row: AllocationRow,
  { noShutdownDelay, reschedule }: StopAllocationRequest,
  { index, timeMs }: Stamp,
): AllocationRow {
  return {
    ...row,
    DesiredTransition: {
      ...row.DesiredTransition,
      Migrate: true,
      ...(noShutdownDelay ? { NoShutdownDelay: true } : {}),
      ...(reschedule ? { Reschedule: true } : {}),
    },
    AllocModifyIndex: index,
    ModifyTime: nsFromMs(timeMs),
  }
}
