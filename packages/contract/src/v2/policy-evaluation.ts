import * as t from './json-api.ts'
import { list, read, routes } from './define.ts'
import { ALL_ENFORCEMENT_LEVELS, POLICY_KINDS } from './policy.ts'

export const POLICY_EVALUATION_STATUSES = [
  'pending',
  'queued',
  'running',
  'passed',
  'failed',
  'overridden',
  'errored',
  'canceled',
  'unreachable',
] as const

export const POLICY_OUTCOME_STATUSES = ['passed', 'failed', 'errored'] as const

const count = t.Integer({ minimum: 0 })

export const PolicyResultCount = t.Named('PolicyResultCount', {
  'advisory-failed': count,
  'mandatory-failed': count,
  passed: count,
  errored: count,
})
export type PolicyResultCount = t.Infer<typeof PolicyResultCount>

/** Evaluation of all policy sets of one kind for one subject. */
export const PolicyEvaluation = t.ResourceOf('PolicyEvaluation', 'policy-evaluations', {
  attributes: t.Object({
    status: t.OneOf(POLICY_EVALUATION_STATUSES),
    'status-timestamps': t.StatusTimestamps(),
    'policy-kind': t.OneOf(POLICY_KINDS),
    'policy-tool-version': t.Nullable(t.String()),
    'result-count': PolicyResultCount,
    'created-at': t.Timestamp(),
    'updated-at': t.Timestamp(),
  }),
  relationships: t.Object({
    // A task stage of a run or, specific to this product, a job submission with the id
    // `<namespace>/<job id>`.
    'policy-attachable': t.Object({ data: t.AnyIdentifier(['task-stages', 'jobs']) }),
    'policy-set-outcomes': t.LinkedOnly(),
  }),
  links: t.SelfLink(),
})
export type PolicyEvaluation = t.Infer<typeof PolicyEvaluation>

/** Where and why a policy failed: rule, position in its code, and the value. */
export const PolicyFinding = t.Named('PolicyFinding', {
  rule: t.Nullable(t.String()),
  line: t.Nullable(t.Integer({ minimum: 1 })),
  column: t.Nullable(t.Integer({ minimum: 1 })),
  file: t.Optional(
    t.String({ description: 'Of the set; absent when it is the file of the policy.' }),
  ),
  message: t.String(),
  value: t.Optional(t.Unknown()),
})
export type PolicyFinding = t.Infer<typeof PolicyFinding>

/**
 * A policy may not apply to the subject: policies for plans skip jobs, and the reverse. Specific
 * to this product.
 */
export function PolicySkipped() {
  const description = 'Why it passed without being asked; absent when it was asked.'
  return t.String({ description })
}

/** Result of one policy. Its members are snake_case, unlike all others. */
export const PolicyOutcome = t.Named('PolicyOutcome', {
  policy_name: t.String(),
  enforcement_level: t.OneOf(ALL_ENFORCEMENT_LEVELS),
  // Level that applies in this set: an overridable set makes its hard policies overridable too.
  effective_level: t.OneOf(ALL_ENFORCEMENT_LEVELS),
  query: t.Nullable(t.String()),
  status: t.OneOf(POLICY_OUTCOME_STATUSES),
  description: t.Nullable(t.String()),
  output: t.Array(t.Unknown({ description: '`{ "print": text }`, or what a query gave.' })),
  findings: t.Array(PolicyFinding),
  skipped: t.Optional(PolicySkipped()),
})
export type PolicyOutcome = t.Infer<typeof PolicyOutcome>

const outcomeAttributes = {
  outcomes: t.Array(PolicyOutcome),
  error: t.String({ description: 'Empty when there was none.' }),
  warnings: t.Array(t.String()),
  overridable: t.Boolean(),
  'policy-set-name': t.String(),
  'policy-set-description': t.Nullable(t.String()),
  'policy-tool-version': t.Nullable(t.String()),
  'result-count': PolicyResultCount,
}

/** Results of the policies of one set, as a dry run embeds them. */
export const PolicySetVerdict = t.Named('PolicySetVerdict', outcomeAttributes)
export type PolicySetVerdict = t.Infer<typeof PolicySetVerdict>

/** Results of the policies of one set in an evaluation. */
export const PolicySetOutcome = t.ResourceOf('PolicySetOutcome', 'policy-set-outcomes', {
  attributes: t.Object(outcomeAttributes),
  relationships: t.Object({ 'policy-evaluation': t.ToOne('policy-evaluations') }),
  links: t.SelfLink(),
})
export type PolicySetOutcome = t.Infer<typeof PolicySetOutcome>

const readers = 'Permission to read the runs of the workspace.'

export const policyEvaluationRoutes = routes('Policy evaluations', {
  listPolicyEvaluations: list('/task-stages/:task_stage_id/policy-evaluations', {
    summary: 'List the policy evaluations of a task stage.',
    returns: PolicyEvaluation,
    needs: readers,
  }),
  readPolicyEvaluation: read('/policy-evaluations/:policy_evaluation_id', {
    summary: 'Show a policy evaluation.',
    returns: PolicyEvaluation,
    needs: readers,
  }),
  listPolicySetOutcomes: list('/policy-evaluations/:policy_evaluation_id/policy-set-outcomes', {
    summary: 'List what each policy set said; a set is shown whole when one outcome matches.',
    query: {
      // Filters with the same number must all match; different numbers are alternatives.
      ...t.indexedQuery('filter[', '][status]', t.OneOf(POLICY_OUTCOME_STATUSES)),
      ...t.indexedQuery('filter[', '][enforcementLevel]', t.OneOf(['advisory', 'mandatory'])),
      // Levels spelled like the members of an outcome.
      ...t.indexedQuery('filter[', '][enforcement_level]', t.OneOf(['advisory', 'mandatory'])),
    },
    returns: PolicySetOutcome,
    needs: readers,
  }),
  readPolicySetOutcome: read('/policy-set-outcomes/:policy_set_outcome_id', {
    summary: 'Show what one policy set said.',
    returns: PolicySetOutcome,
    errors: { 404: 'Outcome not found, or not visible to the caller.' },
    needs: readers,
  }),
})
