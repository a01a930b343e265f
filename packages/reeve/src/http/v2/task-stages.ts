import { v2 } from '@reeve/contract'
import {
  evaluationsOf,
  findRun,
  findStage,
  overrideStage,
  stageOf,
  type GovernanceContext,
  type SeenStage,
} from '../../governance/index.ts'
import { answer, paged, single, windowOf } from './documents.ts'
import { endpoint, type Resource, type V2Endpoint } from './endpoint.ts'
import { policyEvaluationResource, taskStageResource } from './resources/policy-results.ts'

const { v2Routes, TASK_STAGE_INCLUDES } = v2

/** The part of a run in which `opa` policies are evaluated. */
export function taskStageEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const includes = { includes: TASK_STAGE_INCLUDES }
  return [
    endpoint(
      v2Routes.listTaskStages,
      (request) => {
        const { caller, params, page } = request
        const found = findRun(context, caller, { runId: params.run_id, right: 'read' })
        return answer(found, (seen) => {
          const stage = stageOf(context.store.tables, seen.run.id)
          const all = stage === undefined ? [] : [{ ...seen, stage }]
          const { skip, take } = windowOf(page)
          const shown = all.slice(skip, skip + take)
          const items = shown.map((one) => taskStageResource(context, one))
          const included = includedIn(context, shown, request.includes)
          return paged(request, { items, total: all.length, ...included })
        })
      },
      includes,
    ),
    endpoint(
      v2Routes.readTaskStage,
      (request) => {
        const { caller, params } = request
        const found = findStage(context, caller, { stageId: params.task_stage_id, right: 'read' })
        return answer(found, (seen) =>
          single(taskStageResource(context, seen), includedIn(context, [seen], request.includes)),
        )
      },
      includes,
    ),
    endpoint(
      v2Routes.overrideTaskStage,
      async ({ caller, params, body }) =>
        answer(
          await overrideStage(context, caller, {
            stageId: params.task_stage_id,
            comment: body?.comment ?? null,
          }),
          (seen) => single(taskStageResource(context, seen)),
        ),
      {
        guard: ({ caller, params }) =>
          findStage(context, caller, { stageId: params.task_stage_id, right: 'overridePolicies' }),
      },
    ),
  ]
}

function includedIn(
  { store }: GovernanceContext,
  stages: readonly SeenStage[],
  includes: ReadonlySet<string>,
): { readonly included?: readonly Resource[] } {
  if (!includes.has('policy_evaluations')) return {}
  return {
    included: stages.flatMap(({ stage }) =>
      evaluationsOf(store.tables, stage.id).map(policyEvaluationResource),
    ),
  }
}
