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
import { namespacedKey, put, withJobRows, type Change, type Stamp } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'

export interface StopAllocationRequest {
  readonly allocId: string
  /** Skip the shutdown delays of group and tasks. */
  readonly noShutdownDelay: boolean
  /** Count its replacement as a rescheduling. */
  readonly reschedule: boolean
}

export interface AllocationStopped {
  /** Empty when nothing is known any more of the job. */
  readonly evalId: string
  readonly index: number
}

/**
 * Only the wish is written down, with an evaluation of the job: that stops the allocation and
 * places another. One that has ended may be named too; then nothing follows.
 */
export async function stopAllocation(
  { store, view, ids }: WorkloadContext,
  { grants, by }: RequestCaller,
  request: StopAllocationRequest,
): Promise<Result<AllocationStopped, Refusal>> {
  const id = checkUuid('alloc', request.allocId)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const row = store.tables.allocations.find(id.value)
  if (row === undefined) return err(refusal('alloc-not-found', 'allocation not found'))
  // Ids are global, so it is the allocation's own namespace that counts.
  if (!grants.allows(row.Namespace, 'alloc-lifecycle')) return err(PERMISSION_DENIED)
  const job = store.tables.jobs.find(namespacedKey(row.Namespace, row.JobID)) ?? view.findJobOf(row)
  const evalId = job === undefined ? '' : ids.uuid()
  const { index, durable } = store.commit({
    by,
    cause: 'AllocationUpdateDesiredStatus',
    changes: (stamp) => {
      const changes: Change[] = [put('allocations', markedRow(row, request, stamp))]
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
      return withJobRows(store.tables, changes)
    },
  })
  await durable
  return ok({ evalId, index })
}

function markedRow(
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
