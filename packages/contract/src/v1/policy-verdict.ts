import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list } from './define.ts'
import { Named, Index, Nanoseconds, Nullable, type Infer } from '../schema.ts'
import { permissionDenied, jsonResponse, textError } from './shared-schemas.ts'

/** Enforcement levels of both kinds of policies. */
export const POLICY_LEVELS = ['hard-mandatory', 'soft-mandatory', 'advisory', 'mandatory'] as const

/** Effect of a policy on the submission of the job. */
export const POLICY_EFFECTS = ['passes', 'warns', 'denies', 'overridden'] as const

export const JobPolicyFinding = Named('JobPolicyFinding', {
  Rule: Nullable(Type.String()),
  File: Type.Optional(
    Type.String({ description: 'Of the set; absent when it is the file of the policy.' }),
  ),
  Line: Nullable(Type.Integer()),
  Column: Nullable(Type.Integer()),
  Message: Type.String({ description: 'The violation, with the values.' }),
})
export type JobPolicyFinding = Infer<typeof JobPolicyFinding>

export const JobPolicyOutcome = Type.Object(
  {
    PolicySet: Type.String(),
    PolicySetID: Type.String(),
    Policy: Type.String(),
    PolicyID: Type.String(),
    Level: Type.Enum(POLICY_LEVELS),
    Status: Type.Enum(['passed', 'failed', 'errored'] as const),
    Effect: Type.Enum(POLICY_EFFECTS),
    Overridable: Type.Boolean({
      description: 'Whether `PolicyOverride` overrides it when it fails.',
    }),
    Description: Nullable(Type.String()),
    Skipped: Type.Optional(
      Type.String({ description: 'Why it passes without being asked; absent when it was asked.' }),
    ),
    Findings: Type.Array(JobPolicyFinding),
    FindingsOmitted: Type.Integer({ description: 'Findings beyond those that are listed.' }),
  },
  { $id: 'JobPolicyOutcome', description: 'Result of one policy of one set for a job.' },
)
export type JobPolicyOutcome = Infer<typeof JobPolicyOutcome>

/** Operations that policies are evaluated for. Plans are evaluated too, but not recorded. */
export const GUARDED_OPERATIONS = ['register', 'scale', 'dispatch', 'revert'] as const
export type GuardedOperation = (typeof GUARDED_OPERATIONS)[number]

export const VERDICT_RESULTS = ['denied', 'overridden'] as const

/**
 * Record of a denied or overridden submission: author, policies, reason and time. Specific to this
 * product.
 */
export const PolicyVerdict = Type.Object(
  {
    ID: Type.String({ format: 'uuid' }),
    Namespace: Type.String(),
    JobID: Type.String({ description: 'Of a dispatch, the parent.' }),
    Operation: Type.Enum(GUARDED_OPERATIONS),
    Result: Type.Enum(VERDICT_RESULTS),
    AccessorID: Type.String({
      description: 'Accessor ID of the submitting token; empty if access control is off.',
    }),
    TokenName: Type.String(),
    Comment: Type.String({ description: 'The comment of the override.' }),
    Time: Nanoseconds(),
    SubjectHash: Type.String({ description: 'SHA-256 of the job that was judged.' }),
    HasSubject: Type.Boolean({ description: 'Whether the job that was judged is kept.' }),
    Asked: Type.Integer({ description: 'How many policies were asked.' }),
    Outcomes: Type.Array(JobPolicyOutcome, { description: 'Policies that did not pass.' }),
    OutcomesOmitted: Type.Integer({ description: 'Outcomes beyond those that are listed.' }),
    CreateIndex: Index(),
    ModifyIndex: Index(),
  },
  {
    $id: 'PolicyVerdict',
    description: 'A job submission that policies denied, or that overrode them.',
  },
)
export type PolicyVerdict = Infer<typeof PolicyVerdict>

const verdictQuery = {}
const verdictAnswers = {
  200: jsonResponse(
    Type.Array(PolicyVerdict),
    'The verdicts; the latest of each namespace are kept.',
  ),
  400: textError('The filter cannot be read.'),
  403: permissionDenied,
}

export const policyVerdictRoutes = routes('Jobs', {
  listPolicyVerdicts: list('/policy-verdicts', {
    summary: 'List the denials and overrides of a namespace.',
    query: verdictQuery,
    answers: verdictAnswers,
    needs: 'namespace:read-job',
  }),
  listJobVerdicts: list('/job/:job_id/verdicts', {
    summary: 'List the denials and overrides of a job.',
    query: verdictQuery,
    answers: verdictAnswers,
    needs: 'namespace:read-job',
  }),
})
