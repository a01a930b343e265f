import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, read } from './define.ts'
import { Named, Nullable, Timestamp, type Infer } from '../schema.ts'
import {
  AnyIdentifier,
  DocumentOf,
  LinkedOnly,
  OneOf,
  PageOf,
  ResourceOf,
  SelfLink,
  StatusTimestamps,
  ToOne,
} from './json-api.ts'
import { ALL_ENFORCEMENT_LEVELS, POLICY_KINDS } from './policy.ts'
import { fieldsQuery, indexedQuery } from './query.ts'

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

const count = Type.Integer({ minimum: 0 })

export const PolicyResultCount = Named('PolicyResultCount', {
  'advisory-failed': count,
  'mandatory-failed': count,
  passed: count,
  errored: count,
})
export type PolicyResultCount = Infer<typeof PolicyResultCount>

/** Evaluation of all policy sets of one kind for one subject. */
export const PolicyEvaluation = ResourceOf('PolicyEvaluation', 'policy-evaluations', {
  attributes: Type.Object({
    status: OneOf(POLICY_EVALUATION_STATUSES),
    'status-timestamps': StatusTimestamps(),
    'policy-kind': OneOf(POLICY_KINDS),
    'policy-tool-version': Nullable(Type.String()),
    'result-count': PolicyResultCount,
    'created-at': Timestamp(),
    'updated-at': Timestamp(),
  }),
  relationships: Type.Object({
    // A task stage of a run or, specific to this product, a job submission with the id
    // `<namespace>/<job id>`.
    'policy-attachable': Type.Object({ data: AnyIdentifier(['task-stages', 'jobs']) }),
    'policy-set-outcomes': LinkedOnly(),
  }),
  links: SelfLink(),
})
export type PolicyEvaluation = Infer<typeof PolicyEvaluation>

/** Where and why a policy failed: rule, position in its code, and the value. */
export const PolicyFinding = Named('PolicyFinding', {
  rule: Nullable(Type.String()),
  line: Nullable(Type.Integer({ minimum: 1 })),
  column: Nullable(Type.Integer({ minimum: 1 })),
  file: Type.Optional(
    Type.String({ description: 'Of the set; absent when it is the file of the policy.' }),
  ),
  message: Type.String(),
  value: Type.Optional(Type.Unknown()),
})
export type PolicyFinding = Infer<typeof PolicyFinding>

/**
 * A policy may not apply to the subject: policies for plans skip jobs, and the reverse. Specific
 * to this product.
 */
export function PolicySkipped() {
  const description = 'Why it passed without being asked; absent when it was asked.'
  return Type.String({ description })
}

/** Result of one policy. Its members are snake_case, unlike all others. */
export const PolicyOutcome = Named('PolicyOutcome', {
  policy_name: Type.String(),
  enforcement_level: OneOf(ALL_ENFORCEMENT_LEVELS),
  // Level that applies in this set: an overridable set makes its hard policies overridable too.
  effective_level: OneOf(ALL_ENFORCEMENT_LEVELS),
  query: Nullable(Type.String()),
  status: OneOf(POLICY_OUTCOME_STATUSES),
  description: Nullable(Type.String()),
  output: Type.Array(Type.Unknown({ description: '`{ "print": text }`, or what a query gave.' })),
  findings: Type.Array(PolicyFinding),
  skipped: Type.Optional(PolicySkipped()),
})
export type PolicyOutcome = Infer<typeof PolicyOutcome>

const outcomeAttributes = {
  outcomes: Type.Array(PolicyOutcome),
  error: Type.String({ description: 'Empty when there was none.' }),
  warnings: Type.Array(Type.String()),
  overridable: Type.Boolean(),
  'policy-set-name': Type.String(),
  'policy-set-description': Nullable(Type.String()),
  'policy-tool-version': Nullable(Type.String()),
  'result-count': PolicyResultCount,
}

/** Results of the policies of one set, as a dry run embeds them. */
export const PolicySetVerdict = Named('PolicySetVerdict', outcomeAttributes)
export type PolicySetVerdict = Infer<typeof PolicySetVerdict>

/** Results of the policies of one set in an evaluation. */
export const PolicySetOutcome = ResourceOf('PolicySetOutcome', 'policy-set-outcomes', {
  attributes: Type.Object(outcomeAttributes),
  relationships: Type.Object({ 'policy-evaluation': ToOne('policy-evaluations') }),
  links: SelfLink(),
})
export type PolicySetOutcome = Infer<typeof PolicySetOutcome>

export const PolicyEvaluationDocument = DocumentOf(PolicyEvaluation)

export const PolicyEvaluationPage = PageOf(PolicyEvaluation)

export const PolicySetOutcomeDocument = DocumentOf(PolicySetOutcome)

export const PolicySetOutcomePage = PageOf(PolicySetOutcome)

const readers = 'Permission to read the runs of the workspace.'

export const policyEvaluationRoutes = routes('Policy evaluations', {
  listPolicyEvaluations: list('/task-stages/:task_stage_id/policy-evaluations', {
    summary: 'List the policy evaluations of a task stage.',
    query: { ...fieldsQuery('policy-evaluations') },
    returns: PolicyEvaluationPage,
    needs: readers,
  }),
  readPolicyEvaluation: read('/policy-evaluations/:policy_evaluation_id', {
    summary: 'Show a policy evaluation.',
    query: fieldsQuery('policy-evaluations'),
    returns: PolicyEvaluationDocument,
    needs: readers,
  }),
  listPolicySetOutcomes: list('/policy-evaluations/:policy_evaluation_id/policy-set-outcomes', {
    summary: 'List what each policy set said; a set is shown whole when one outcome matches.',
    query: {
      // Filters with the same number must all match; different numbers are alternatives.
      ...indexedQuery('filter[', '][status]', OneOf(POLICY_OUTCOME_STATUSES)),
      ...indexedQuery('filter[', '][enforcementLevel]', OneOf(['advisory', 'mandatory'])),
      // Levels spelled like the members of an outcome.
      ...indexedQuery('filter[', '][enforcement_level]', OneOf(['advisory', 'mandatory'])),
      ...fieldsQuery('policy-set-outcomes'),
    },
    returns: PolicySetOutcomePage,
    needs: readers,
  }),
  readPolicySetOutcome: read('/policy-set-outcomes/:policy_set_outcome_id', {
    summary: 'Show what one policy set said.',
    query: fieldsQuery('policy-set-outcomes'),
    returns: PolicySetOutcomeDocument,
    errors: { 404: 'Outcome not found, or not visible to the caller.' },
    needs: readers,
  }),
})
