import { v2 } from '@reeve/contract'
import {
  evaluationsOf,
  findEvaluation,
  findSetOutcome,
  findStage,
  outcomesOf,
  type GovernanceContext,
} from '../../governance/index.ts'
import type { PolicySetOutcomeRow } from '../../model/index.ts'
import { answer, paged, single, windowOf } from './documents.ts'
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
      return answer(found, ({ stage }) => {
        const all = evaluationsOf(tables, stage.id)
        const { skip, take } = windowOf(page)
        const items = all.slice(skip, skip + take).map(policyEvaluationResource)
        return paged(request, { items, total: all.length })
      })
    }),
    endpoint(v2Routes.readPolicyEvaluation, ({ caller, params }) =>
      answer(findEvaluation(context, caller, params.policy_evaluation_id), (row) =>
        single(policyEvaluationResource(row)),
      ),
    ),
    endpoint(v2Routes.listPolicySetOutcomes, (request) => {
      const { caller, params, page, query } = request
      return answer(findEvaluation(context, caller, params.policy_evaluation_id), ({ id }) => {
        const filters = filtersOf(query)
        const all = outcomesOf(tables, id).filter((row) => isWanted(row, filters))
        const { skip, take } = windowOf(page)
        const items = all.slice(skip, skip + take).map(policySetOutcomeResource)
        return paged(request, { items, total: all.length })
      })
    }),
    endpoint(v2Routes.readPolicySetOutcome, ({ caller, params }) =>
      answer(findSetOutcome(context, caller, params.policy_set_outcome_id), (row) =>
        single(policySetOutcomeResource(row)),
      ),
    ),
  ]
}

/** The filters with the same number; both must match the same policy. */
interface OutcomeFilter {
  status?: string
  level?: string
}

/** Parses the filters `filter[0][status]`, `filter[0][enforcementLevel]`, `filter[1][status]` … */
function filtersOf(
  query: V2Request<typeof v2Routes.listPolicySetOutcomes>['query'],
): readonly OutcomeFilter[] {
  const byNumber = new Map<string, OutcomeFilter>()
  for (const [name, value] of Object.entries(query)) {
    const [, number, what] = /^filter\[(\d)\]\[(\w+)\]$/.exec(name) ?? []
    if (number === undefined || typeof value !== 'string') continue
    const filter = byNumber.get(number) ?? {}
    byNumber.set(number, filter)
    if (what === 'status') filter.status = value
    else filter.level = value
  }
  return [...byNumber.values()]
}

/**
 * Reports whether a set is shown: filters with different numbers are alternatives, and a set is
 * shown whole if one policy matches.
 */
function isWanted({ outcomes }: PolicySetOutcomeRow, filters: readonly OutcomeFilter[]): boolean {
  if (filters.length === 0) return true
  return filters.some(({ status, level }) =>
    outcomes.some(
      (outcome) =>
        (status === undefined || outcome.status === status) &&
        (level === undefined || outcome.enforcement_level === level),
    ),
  )
}
