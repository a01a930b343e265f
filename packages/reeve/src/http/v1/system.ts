import { v1Routes } from '@reeve/contract'
import { ok } from '@reeve/kit/result.ts'
import { forceCollection, reconcileSummaries, type WorkloadContext } from '../../workload/index.ts'
import { EMPTY } from '../answer.ts'
import { write, type Endpoint } from './endpoint.ts'
import { management } from './requirements.ts'

export function systemEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    write(v1Routes.collectGarbage, management, async ({ caller }) => {
      await forceCollection(context, caller)
      return ok({ index: store.durableIndex, answer: EMPTY })
    }),
    write(v1Routes.reconcileSummaries, management, async ({ caller }) => {
      await reconcileSummaries(context, caller)
      return ok({ index: store.durableIndex, answer: EMPTY })
    }),
  ]
}
