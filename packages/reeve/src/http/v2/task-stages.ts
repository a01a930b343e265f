import { v2 } from '@reeve/contract'
import {
  listEvaluations,
  findRun,
  findStage,
  overrideStage,
  findTaskStage,
  type GovernanceContext,
  type VisibleStage,
} from '../../governance/index.ts'
import { mapResult, pageDocument, resourceDocument, offsetAndLimit } from './documents.ts'
import { endpoint, type Resource, type V2Endpoint } from './endpoint.ts'
import { policyEvaluationResource, taskStageResource } from './resources/policy-results.ts'

const { v2Routes, TASK_STAGE_INCLUDES } = v2

/** Returns the routes of task stages, in which a run's `opa` policies are evaluated. */
export function taskStageEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const includes = { includes: TASK_STAGE_INCLUDES }
  return [
    endpoint(
      v2Routes.listTaskStages,
      (request) => {
        const { caller, params, page } = request
        const found = findRun(context, caller, { runId: params.run_id, right: 'read' })
        return mapResult(found, (visible) => {
          const stage = findTaskStage(context.store.tables, visible.run.id)
          const all = stage === undefined ? [] : [{ ...visible, stage }]
          const { offset, limit } = offsetAndLimit(page)
          const onPage = all.slice(offset, offset + limit)
          const items = onPage.map((one) => taskStageResource(context, one))
          const included = includedEvaluations(context, onPage, request.includes)
          return pageDocument(request, { items, total: all.length, ...included })
        })
      },
      includes,
    ),
    endpoint(
      v2Routes.readTaskStage,
      (request) => {
        const { caller, params } = request
        const found = findStage(context, caller, { stageId: params.task_stage_id, right: 'read' })
        return mapResult(found, (visible) =>
          resourceDocument(
            taskStageResource(context, visible),
            includedEvaluations(context, [visible], request.includes),
          ),
        )
      },
      includes,
    ),
    endpoint(
      v2Routes.overrideTaskStage,
      async ({ caller, params, body }) =>
        mapResult(
          await overrideStage(context, caller, {
            stageId: params.task_stage_id,
            comment: body?.comment ?? null,
          }),
          (visible) => resourceDocument(taskStageResource(context, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findStage(context, caller, { stageId: params.task_stage_id, right: 'overridePolicies' }),
      },
    ),
  ]
}

function includedEvaluations(
  { store }: GovernanceContext,
  stages: readonly VisibleStage[],
  includes: ReadonlySet<string>,
): { readonly included?: readonly Resource[] } {
  if (!includes.has('policy_evaluations')) return {}
  return {
    included: stages.flatMap(({ stage }) =>
      listEvaluations(store.tables, stage.id).map(policyEvaluationResource),
    ),
  }
}
