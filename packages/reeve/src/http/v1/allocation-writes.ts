import { v1Routes, type AllocationStopResponse } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import { stopAllocation, type WorkloadContext } from '../../workload/index.ts'
import { json } from '../answer.ts'
import { write, type Endpoint, type WriteResult, type WriteRequestOf } from './endpoint.ts'
import { inAnyNamespace } from './requirements.ts'

export function allocationWriteEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    write(v1Routes.stopAllocation, inAnyNamespace('alloc-lifecycle'), (request) =>
      stopAllocationRoute(context, request),
    ),
  ]
}

async function stopAllocationRoute(
  context: WorkloadContext,
  { caller, params, query }: WriteRequestOf<typeof v1Routes.stopAllocation>,
): Promise<Result<WriteResult, Refusal>> {
  const stopped = await stopAllocation(context, caller, {
    allocId: params.alloc_id,
    noShutdownDelay: query.no_shutdown_delay ?? false,
    reschedule: query.reschedule ?? false,
  })
  if (!stopped.ok) return stopped
  const { evalId, index } = stopped.value
  const responseBody: AllocationStopResponse = { EvalID: evalId, Index: index }
  return ok({ index, response: json(responseBody) })
}
