import { v1Routes } from '@reeve/contract'
import { ok } from '@reeve/kit/result.ts'
import {
  forceGarbageCollection,
  recountSummaries,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE } from '../answer.ts'
import { write, type Endpoint } from './endpoint.ts'
import { management } from './requirements.ts'

export function systemEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    write(v1Routes.collectGarbage, management, async ({ caller }) => {
      await forceGarbageCollection(context, caller)
      return ok({ index: store.durableIndex, response: EMPTY_RESPONSE })
    }),
    write(v1Routes.reconcileSummaries, management, async ({ caller }) => {
      await recountSummaries(context, caller)
      return ok({ index: store.durableIndex, response: EMPTY_RESPONSE })
    }),
  ]
}
