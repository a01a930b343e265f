import * as t from './shared-schemas.ts'
import { list, routes } from './define.ts'

/** Enforcement levels of both kinds of policies. */
export const POLICY_LEVELS = ['hard-mandatory', 'soft-mandatory', 'advisory', 'mandatory'] as const

/** Effect of a policy on the submission of the job. */
export const POLICY_EFFECTS = ['passes', 'warns', 'denies', 'overridden'] as const

export const JobPolicyFinding = t.Named('JobPolicyFinding', {
  Rule: t.Nullable(t.String()),
  File: t.Optional(
    t.String({ description: 'Of the set; absent when it is the file of the policy.' }),
  ),
  Line: t.Nullable(t.Integer()),
  Column: t.Nullable(t.Integer()),
  Message: t.String({ description: 'The violation, with the values.' }),
})
export type JobPolicyFinding = t.Infer<typeof JobPolicyFinding>

export const JobPolicyOutcome = t.Object(
  {
    PolicySet: t.String(),
    PolicySetID: t.String(),
    Policy: t.String(),
    PolicyID: t.String(),
    Level: t.Enum(POLICY_LEVELS),
    Status: t.Enum(['passed', 'failed', 'errored'] as const),
    Effect: t.Enum(POLICY_EFFECTS),
    Overridable: t.Boolean({ description: 'Whether `PolicyOverride` overrides it when it fails.' }),
    Description: t.Nullable(t.String()),
    Skipped: t.Optional(
      t.String({ description: 'Why it passes without being asked; absent when it was asked.' }),
    ),
    Findings: t.Array(JobPolicyFinding),
    FindingsOmitted: t.Integer({ description: 'Findings beyond those that are listed.' }),
  },
  { $id: 'JobPolicyOutcome', description: 'Result of one policy of one set for a job.' },
)
export type JobPolicyOutcome = t.Infer<typeof JobPolicyOutcome>

/** Operations that policies are evaluated for. Plans are evaluated too, but not recorded. */
export const GUARDED_OPERATIONS = ['register', 'scale', 'dispatch', 'revert'] as const
export type GuardedOperation = (typeof GUARDED_OPERATIONS)[number]

export const VERDICT_RESULTS = ['denied', 'overridden'] as const

/**
 * Record of a denied or overridden submission: author, policies, reason and time. Specific to this
 * product.
 */
export const PolicyVerdict = t.Object(
  {
    ID: t.String({ format: 'uuid' }),
    Namespace: t.String(),
    JobID: t.String({ description: 'Of a dispatch, the parent.' }),
    Operation: t.Enum(GUARDED_OPERATIONS),
    Result: t.Enum(VERDICT_RESULTS),
    AccessorID: t.String({
      description: 'Accessor ID of the submitting token; empty if access control is off.',
    }),
    TokenName: t.String(),
    Comment: t.String({ description: 'The comment of the override.' }),
    Time: t.Nanoseconds(),
    SubjectHash: t.String({ description: 'SHA-256 of the job that was judged.' }),
    HasSubject: t.Boolean({ description: 'Whether the job that was judged is kept.' }),
    Asked: t.Integer({ description: 'How many policies were asked.' }),
    Outcomes: t.Array(JobPolicyOutcome, { description: 'Policies that did not pass.' }),
    OutcomesOmitted: t.Integer({ description: 'Outcomes beyond those that are listed.' }),
    CreateIndex: t.Index(),
    ModifyIndex: t.Index(),
  },
  {
    $id: 'PolicyVerdict',
    description: 'A job submission that policies denied, or that overrode them.',
  },
)
export type PolicyVerdict = t.Infer<typeof PolicyVerdict>

const verdicts = t.jsonResponse(
  t.Array(PolicyVerdict),
  'The verdicts; the latest of each namespace are kept.',
)
const errors = { 400: 'The filter cannot be read.' }

export const policyVerdictRoutes = routes('Jobs', {
  listPolicyVerdicts: list('/policy-verdicts', {
    summary: 'List the denials and overrides of a namespace.',
    returns: verdicts,
    errors,
    needs: 'namespace:read-job',
  }),
  listJobVerdicts: list('/job/:job_id/verdicts', {
    summary: 'List the denials and overrides of a job.',
    returns: verdicts,
    errors,
    acceptsUnknown: true,
    needs: 'namespace:read-job',
  }),
})
