import { Type } from 'typebox'
import { routes } from '../route.ts'
import { action } from './define.ts'
import { Named, MapOf, Nullable, Timestamp, type Infer } from '../schema.ts'
import { DocumentOf, OneOf, RequestOf } from './json-api.ts'
import {
  LINE_LENGTH_MAX,
  PLAN_UPLOAD_BYTES_MAX,
  POLICY_UPLOAD_BYTES_MAX,
  REPLAY_PAGE_DEFAULT,
  REPLAY_PAGE_MAX,
} from './limits.ts'
import { POLICY_OUTCOME_STATUSES, PolicyFinding, PolicySkipped } from './policy-evaluation.ts'
import { PolicyDiagnostic } from './policy.ts'

/**
 * Members that may differ from the stored policy, so that a change can be tried before it is
 * enforced.
 */
const changed = {
  code: Type.Optional(
    Type.String({
      maxLength: POLICY_UPLOAD_BYTES_MAX,
      description: 'Asked in place of the stored code.',
    }),
  ),
  query: Type.Optional(Nullable(Type.String({ maxLength: LINE_LENGTH_MAX }))),
  params: Type.Optional(MapOf(Type.Unknown())),
}

export const PolicyTrialRequest = RequestOf('PolicyTrialRequest', 'policy-trials', {
  attributes: Type.Object({
    ...changed,
    input: MapOf(
      Type.Unknown({
        description:
          '`plan` and `run`, or `job` with `existing_job` and `namespace`: what `opa` policies have as `input`.',
      }),
    ),
  }),
})

/** Result of a policy for an input. It has no id, because nothing is stored. */
export const PolicyTrial = Named('PolicyTrial', {
  type: Type.Literal('policy-trials'),
  attributes: Type.Object({
    status: OneOf(POLICY_OUTCOME_STATUSES),
    output: Type.Array(Type.Unknown()),
    findings: Type.Array(PolicyFinding),
    diagnostics: Type.Array(PolicyDiagnostic),
    warnings: Type.Array(Type.String()),
    skipped: Type.Optional(PolicySkipped()),
  }),
})
export type PolicyTrial = Infer<typeof PolicyTrial>

export const PolicyTrialDocument = DocumentOf(PolicyTrial)

/** Subjects of a replay: uploaded plans, and job versions or denied submissions. */
export const REPLAY_SUBJECTS = ['runs', 'jobs'] as const

export const PolicyReplayRequest = RequestOf('PolicyReplayRequest', 'policy-replays', {
  attributes: Type.Optional(
    Type.Object({
      ...changed,
      subjects: Type.Optional(Type.Array(OneOf(REPLAY_SUBJECTS), { maxItems: 2 })),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: REPLAY_PAGE_MAX, default: REPLAY_PAGE_DEFAULT }),
      ),
      cursor: Type.Optional(
        Nullable(
          Type.String({
            maxLength: LINE_LENGTH_MAX,
            description: '`next-cursor` of the page before; the newest first when omitted.',
          }),
        ),
      ),
    }),
  ),
})

/** Result that the policy would have had for a past run or submission. */
export const ReplayedSubject = Named('ReplayedSubject', {
  type: OneOf(REPLAY_SUBJECTS),
  id: Type.String({ description: 'Of a run; of a job `<namespace>/<job id>`.' }),
  version: Nullable(Type.Integer({ description: 'Of the job; null for a denied submission.' })),
  'created-at': Nullable(Timestamp()),
  status: OneOf(POLICY_OUTCOME_STATUSES),
  'would-deny': Type.Boolean(),
  findings: Type.Array(PolicyFinding),
  skipped: Type.Optional(PolicySkipped()),
})
export type ReplayedSubject = Infer<typeof ReplayedSubject>

export const PolicyReplay = Named('PolicyReplay', {
  type: Type.Literal('policy-replays'),
  attributes: Type.Object({
    judged: Type.Integer({
      minimum: 0,
      description: 'Subjects on this page that the policy was asked about.',
    }),
    'would-deny': Type.Integer({ minimum: 0 }),
    skipped: Type.Integer({
      minimum: 0,
      description: 'Subjects on this page that it was not asked about.',
    }),
    results: Type.Array(ReplayedSubject),
    'next-cursor': Nullable(Type.String({ description: 'Null when everything was judged.' })),
  }),
})
export type PolicyReplay = Infer<typeof PolicyReplay>

export const PolicyReplayDocument = DocumentOf(PolicyReplay)
export type PolicyReplayDocument = Infer<typeof PolicyReplayDocument>

const needs = 'Owners team, teams with Manage policies, or the organization token.'

/** Routes that try a policy without enforcing it. Specific to this product. */
export const policyTrialRoutes = routes('Policies', {
  tryPolicy: action('/policies/:policy_id/actions/evaluate', {
    summary: 'Ask a policy, or other code in its place, about any input.',
    bodyBytesMax: PLAN_UPLOAD_BYTES_MAX,
    body: PolicyTrialRequest,
    returns: PolicyTrialDocument,
    result: 'Result of the policy.',
    errors: {
      413: `Larger than ${PLAN_UPLOAD_BYTES_MAX} bytes.`,
      409: 'The code of the policy is being replaced.',
      422: 'The input has neither a plan nor a job, or there is no code.',
    },
    needs,
  }),
  replayPolicy: action('/policies/:policy_id/actions/replay', {
    summary: 'Say what a policy would have denied of the latest runs and job registrations.',
    bodyBytesMax: 2 * POLICY_UPLOAD_BYTES_MAX,
    body: PolicyReplayRequest,
    returns: PolicyReplayDocument,
    result: 'Results of the policy.',
    errors: {
      413: `Larger than ${2 * POLICY_UPLOAD_BYTES_MAX} bytes.`,
      409: 'The code of the policy is being replaced.',
      422: 'There is no code, or the cursor cannot be read.',
    },
    needs,
  }),
})
