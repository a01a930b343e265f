import * as t from './json-api.ts'
import { action, routes } from './define.ts'
import { POLICY_OUTCOME_STATUSES, PolicyFinding, PolicySkipped } from './policy-evaluation.ts'
import { PolicyDiagnostic } from './policy.ts'

/**
 * Members that may differ from the stored policy, so that a change can be tried before it is
 * enforced.
 */
const changed = {
  code: t.Optional(
    t.String({
      maxLength: t.POLICY_UPLOAD_BYTES_MAX,
      description: 'Asked in place of the stored code.',
    }),
  ),
  query: t.Optional(t.Nullable(t.String({ maxLength: t.LINE_LENGTH_MAX }))),
  params: t.Optional(t.MapOf(t.Unknown())),
}

export const PolicyTrialRequest = t.RequestOf('PolicyTrialRequest', 'policy-trials', {
  attributes: t.Object({
    ...changed,
    input: t.MapOf(
      t.Unknown({
        description:
          '`plan` and `run`, or `job` with `existing_job` and `namespace`: what `opa` policies have as `input`.',
      }),
    ),
  }),
})

/** Result of a policy for an input. It has no id, because nothing is stored. */
export const PolicyTrial = t.Named('PolicyTrial', {
  type: t.Literal('policy-trials'),
  attributes: t.Object({
    status: t.OneOf(POLICY_OUTCOME_STATUSES),
    output: t.Array(t.Unknown()),
    findings: t.Array(PolicyFinding),
    diagnostics: t.Array(PolicyDiagnostic),
    warnings: t.Array(t.String()),
    skipped: t.Optional(PolicySkipped()),
  }),
})
export type PolicyTrial = t.Infer<typeof PolicyTrial>

/** Subjects of a replay: uploaded plans, and job versions or denied submissions. */
export const REPLAY_SUBJECTS = ['runs', 'jobs'] as const

export const PolicyReplayRequest = t.UpdateRequestOf('PolicyReplayRequest', 'policy-replays', {
  ...changed,
  subjects: t.Array(t.OneOf(REPLAY_SUBJECTS), { maxItems: 2 }),
  limit: t.Integer({ minimum: 1, maximum: t.REPLAY_PAGE_MAX, default: t.REPLAY_PAGE_DEFAULT }),
  cursor: t.Nullable(
    t.String({
      maxLength: t.LINE_LENGTH_MAX,
      description: '`next-cursor` of the page before; the newest first when omitted.',
    }),
  ),
})

/** Result that the policy would have had for a past run or submission. */
export const ReplayedSubject = t.Named('ReplayedSubject', {
  type: t.OneOf(REPLAY_SUBJECTS),
  id: t.String({ description: 'Of a run; of a job `<namespace>/<job id>`.' }),
  version: t.Nullable(t.Integer({ description: 'Of the job; null for a denied submission.' })),
  'created-at': t.Nullable(t.Timestamp()),
  status: t.OneOf(POLICY_OUTCOME_STATUSES),
  'would-deny': t.Boolean(),
  findings: t.Array(PolicyFinding),
  skipped: t.Optional(PolicySkipped()),
})
export type ReplayedSubject = t.Infer<typeof ReplayedSubject>

export const PolicyReplay = t.Named('PolicyReplay', {
  type: t.Literal('policy-replays'),
  attributes: t.Object({
    judged: t.Integer({
      minimum: 0,
      description: 'Subjects on this page that the policy was asked about.',
    }),
    'would-deny': t.Integer({ minimum: 0 }),
    skipped: t.Integer({
      minimum: 0,
      description: 'Subjects on this page that it was not asked about.',
    }),
    results: t.Array(ReplayedSubject),
    'next-cursor': t.Nullable(t.String({ description: 'Null when everything was judged.' })),
  }),
})
export type PolicyReplay = t.Infer<typeof PolicyReplay>

export type PolicyReplayDocument = t.Document<typeof PolicyReplay>

const needs = 'Owners team, teams with Manage policies, or the organization token.'

/** Routes that try a policy without enforcing it. Specific to this product. */
export const policyTrialRoutes = routes('Policies', {
  tryPolicy: action('/policies/:policy_id/actions/evaluate', {
    summary: 'Ask a policy, or other code in its place, about any input.',
    bodyBytesMax: t.PLAN_UPLOAD_BYTES_MAX,
    body: PolicyTrialRequest,
    returns: PolicyTrial,
    result: 'Result of the policy.',
    errors: {
      413: `Larger than ${t.PLAN_UPLOAD_BYTES_MAX} bytes.`,
      409: 'The code of the policy is being replaced.',
      422: 'The input has neither a plan nor a job, or there is no code.',
    },
    needs,
  }),
  replayPolicy: action('/policies/:policy_id/actions/replay', {
    summary: 'Say what a policy would have denied of the latest runs and job registrations.',
    bodyBytesMax: 2 * t.POLICY_UPLOAD_BYTES_MAX,
    body: PolicyReplayRequest,
    returns: PolicyReplay,
    result: 'Results of the policy.',
    errors: {
      413: `Larger than ${2 * t.POLICY_UPLOAD_BYTES_MAX} bytes.`,
      409: 'The code of the policy is being replaced.',
      422: 'There is no code, or the cursor cannot be read.',
    },
    needs,
  }),
})
