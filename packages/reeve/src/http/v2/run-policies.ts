import { v2, type Route } from '@reeve/contract'
import {
  findPolicyCheck,
  findCheck,
  findRun,
  overrideCheck,
  type GovernanceContext,
  type VisibleRun,
  listEvaluations,
  findEvaluation,
  findSetOutcome,
  findStage,
  listOutcomes,
  overrideStage,
  findTaskStage,
  type VisibleStage,
  findPlan,
  readRunFile,
  readRedactedPlan,
  uploadPlan,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import type { PolicySetOutcomeRow } from '../../model/index.ts'
import {
  mapResult,
  NO_CONTENT,
  pageIfRequested,
  resourceDocument,
  offsetAndLimit,
  pageDocument,
} from './documents.ts'
import {
  endpoint,
  type JsonApiResult,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import {
  policyCheckLog,
  policyCheckResource,
  policyEvaluationResource,
  policySetOutcomeResource,
  taskStageResource,
} from './resources/policy-results.ts'
import { planResource, runResource } from './resources/run.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes } = v2
const { POLICY_CHECK_INCLUDES } = v2

/** Returns the routes of policy checks: the results of a run's `native` policies. */
export function policyCheckEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: POLICY_CHECK_INCLUDES }
  return [
    endpoint(v2Routes.listPolicyChecks, (request) => listResponse(context, request), included),
    endpoint(
      v2Routes.readPolicyCheck,
      (request) => {
        const { caller, params } = request
        const found = findCheck(context, caller, {
          checkId: params.policy_check_id,
          right: 'read',
        })
        return mapResult(found, (visible) =>
          resourceDocument(
            policyCheckResource(context, visible),
            includedResources(context, visible, request),
          ),
        )
      },
      included,
    ),
    endpoint(v2Routes.readPolicyCheckOutput, (request) => readOutputRoute(context, request)),
    endpoint(
      v2Routes.overridePolicyCheck,
      async ({ caller, params, body }) =>
        mapResult(
          await overrideCheck(context, caller, {
            checkId: params.policy_check_id,
            comment: body?.comment ?? null,
          }),
          (visible) => resourceDocument(policyCheckResource(context, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findCheck(context, caller, {
            checkId: params.policy_check_id,
            right: 'overridePolicies',
          }),
      },
    ),
  ]
}

function listResponse(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listPolicyChecks>,
): JsonApiResult {
  const { caller, params, page } = request
  const found = findRun(context, caller, { runId: params.run_id, right: 'read' })
  return mapResult(found, (visible) => {
    const check = findPolicyCheck(context.store.tables, visible.run.id)
    const all = check === undefined ? [] : [policyCheckResource(context, { ...visible, check })]
    const { offset, limit } = offsetAndLimit(page)
    const items = page.isExplicitPage ? all.slice(offset, offset + limit) : all
    const included = items.length === 0 ? {} : includedResources(context, visible, request)
    return pageIfRequested(request, { items, total: all.length, ...included })
  })
}

function includedResources(
  context: GovernanceContext,
  visible: VisibleRun,
  { caller, includes }: Pick<V2Request<Route>, 'caller' | 'includes'>,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const workspace = includes.has('run.workspace') ? [workspaceResource(context, visible)] : []
  return { included: [runResource(context, visible, caller.userId), ...workspace] }
}

function readOutputRoute(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readPolicyCheckOutput>,
): JsonApiResult {
  const found = findCheck(context, caller, { checkId: params.policy_check_id, right: 'read' })
  return mapResult(found, (visible) => {
    const log = policyCheckLog(visible)
    if (log === undefined) return NO_CONTENT
    const headers = { 'content-type': 'text/plain; charset=utf-8' }
    return ok({ kind: 'bytes', status: 200, bytes: Buffer.from(log), headers })
  })
}

/** Returns the routes of policy evaluations and their outcomes by set. */
export function policyEvaluationEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    endpoint(v2Routes.listPolicyEvaluations, (request) => {
      const { caller, params, page } = request
      const found = findStage(context, caller, { stageId: params.task_stage_id, right: 'read' })
      return mapResult(found, ({ stage }) => {
        const all = listEvaluations(tables, stage.id)
        const { offset, limit } = offsetAndLimit(page)
        const items = all.slice(offset, offset + limit).map(policyEvaluationResource)
        return pageDocument(request, { items, total: all.length })
      })
    }),
    endpoint(v2Routes.readPolicyEvaluation, ({ caller, params }) =>
      mapResult(findEvaluation(context, caller, params.policy_evaluation_id), (row) =>
        resourceDocument(policyEvaluationResource(row)),
      ),
    ),
    endpoint(v2Routes.listPolicySetOutcomes, (request) => {
      const { caller, params, page, query } = request
      return mapResult(findEvaluation(context, caller, params.policy_evaluation_id), ({ id }) => {
        const filters = parseFilters(query)
        const all = listOutcomes(tables, id).filter((row) => matchesFilters(row, filters))
        const { offset, limit } = offsetAndLimit(page)
        const items = all.slice(offset, offset + limit).map(policySetOutcomeResource)
        return pageDocument(request, { items, total: all.length })
      })
    }),
    endpoint(v2Routes.readPolicySetOutcome, ({ caller, params }) =>
      mapResult(findSetOutcome(context, caller, params.policy_set_outcome_id), (row) =>
        resourceDocument(policySetOutcomeResource(row)),
      ),
    ),
  ]
}

/** Filters with the same number; both must match the same policy. */
interface OutcomeFilter {
  status?: string
  level?: string
}

/** Parses the filters `filter[0][status]`, `filter[0][enforcementLevel]`, `filter[1][status]` … */
function parseFilters(
  query: V2Request<typeof v2Routes.listPolicySetOutcomes>['query'],
): readonly OutcomeFilter[] {
  const byNumber = new Map<string, OutcomeFilter>()
  for (const [name, value] of Object.entries(query)) {
    const [, number, field] = /^filter\[(\d)\]\[(\w+)\]$/.exec(name) ?? []
    if (number === undefined || typeof value !== 'string') continue
    const filter = byNumber.get(number) ?? {}
    byNumber.set(number, filter)
    if (field === 'status') filter.status = value
    else filter.level = value
  }
  return [...byNumber.values()]
}

/**
 * Reports whether a set is shown: filters with different numbers are alternatives, and a set is
 * shown whole if one policy matches.
 */
function matchesFilters(
  { outcomes }: PolicySetOutcomeRow,
  filters: readonly OutcomeFilter[],
): boolean {
  if (filters.length === 0) return true
  return filters.some(({ status, level }) =>
    outcomes.some(
      (outcome) =>
        (status === undefined || outcome.status === status) &&
        (level === undefined || outcome.enforcement_level === level),
    ),
  )
}

const { TASK_STAGE_INCLUDES } = v2

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

export function planEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.readPlan, ({ caller, params, requestUrl }) =>
      mapResult(findPlan(context, caller, { planId: params.plan_id, right: 'read' }), (visible) =>
        resourceDocument(planResource({ context, origin: requestUrl.origin }, visible)),
      ),
    ),
    endpoint(
      v2Routes.uploadPlan,
      async ({ caller, params, body, requestUrl }) =>
        mapResult(
          await uploadPlan(context, caller, { planId: params.plan_id, bytes: body }),
          (visible) =>
            ok({
              kind: 'document',
              status: 202,
              document: { data: planResource({ context, origin: requestUrl.origin }, visible) },
            }),
        ),
      {
        authorize: ({ caller, params }) =>
          findPlan(context, caller, { planId: params.plan_id, right: 'queuePlan' }),
      },
    ),
    endpoint(v2Routes.readPlanJson, (request) => readPlanJsonRoute(context, request)),
    endpoint(v2Routes.readRedactedPlanJson, (request) => readRedactedRoute(context, request)),
  ]
}

async function readPlanJsonRoute(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readPlanJson>,
): Promise<JsonApiResult> {
  const visible = findPlan(context, caller, { planId: params.plan_id, right: 'read' })
  if (!visible.ok) return visible
  const plan = await readRedactedPlan(context, visible.value.plan)
  if (plan === undefined) return NO_CONTENT
  return ok({
    kind: 'bytes',
    status: 200,
    bytes: plan,
    headers: { 'content-type': 'application/json' },
  })
}

async function readRedactedRoute(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readRedactedPlanJson>,
): Promise<JsonApiResult> {
  const visible = findPlan(context, caller, { planId: params.plan_id, right: 'read' })
  if (!visible.ok) return visible
  const bytes = await readRunFile(context, visible.value.run.id, 'redacted-plan')
  if (bytes === undefined) return NO_CONTENT
  return ok({ kind: 'bytes', status: 200, bytes, headers: { 'content-type': 'application/json' } })
}
