import { v2 } from '@reeve/contract'
import {
  listEvaluations,
  findEvaluation,
  findSetOutcome,
  findStage,
  listOutcomes,
  type GovernanceContext,
} from '../../governance/index.ts'
import type { PolicySetOutcomeRow } from '../../model/index.ts'
import { mapResult, pageDocument, resourceDocument, offsetAndLimit } from './documents.ts'
import { endpoint, type V2Endpoint, type V2Request } from './endpoint.ts'
import { policyEvaluationResource, policySetOutcomeResource } from './resources/policy-results.ts'

const { v2Routes } = v2

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
