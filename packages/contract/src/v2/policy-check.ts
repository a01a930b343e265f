import * as t from './json-api.ts'
import { action, list, read, routes } from './define.ts'
import { CommentRequest, OverrideRecord } from './run.ts'

export const POLICY_CHECK_STATUSES = [
  'pending',
  'queued',
  'passed',
  'soft_failed',
  'hard_failed',
  'overridden',
  'errored',
  'canceled',
  'unreachable',
] as const

export const POLICY_CHECK_INCLUDES = ['run', 'run.workspace'] as const

const count = t.Integer({ minimum: 0 })

/** Combined result of all `native` policies for one run. */
export const PolicyCheckResult = t.Named('PolicyCheckResult', {
  result: t.Boolean({
    description: 'True when no mandatory policy failed; an override leaves it.',
  }),
  passed: count,
  'total-failed': count,
  'hard-failed': count,
  'soft-failed': count,
  'advisory-failed': count,
  'duration-ms': count,
  native: t.Nullable(t.MapOf(t.Unknown())),
})
export type PolicyCheckResult = t.Infer<typeof PolicyCheckResult>

export const PolicyCheck = t.ResourceOf('PolicyCheck', 'policy-checks', {
  attributes: t.Object({
    result: t.Nullable(PolicyCheckResult),
    scope: t.Literal('organization'),
    status: t.OneOf(POLICY_CHECK_STATUSES),
    'status-timestamps': t.StatusTimestamps(),
    actions: t.Flags(['is-overridable']),
    permissions: t.Flags(['can-override']),
    override: t.Nullable(OverrideRecord),
  }),
  relationships: t.Object({ run: t.ToOne('runs') }),
  links: t.Object({ self: t.PathLink(), output: t.PathLink() }),
})
export type PolicyCheck = t.Infer<typeof PolicyCheck>

export const PolicyCheckPage = t.PageOnRequestOf(PolicyCheck)

const readers = 'Permission to read the runs of the workspace.'

export const policyCheckRoutes = routes('Policy checks', {
  listPolicyChecks: list('/runs/:run_id/policy-checks', {
    summary:
      'List the checks of `native` policies of a run; in pages only when a page is asked for.',
    query: { ...t.includeQuery(POLICY_CHECK_INCLUDES), ...t.fieldsQuery('policy-checks') },
    returns: PolicyCheckPage,
    needs: readers,
  }),
  readPolicyCheck: read('/policy-checks/:policy_check_id', {
    summary: 'Show a policy check.',
    query: t.includeQuery(POLICY_CHECK_INCLUDES),
    returns: PolicyCheck,
    needs: readers,
  }),
  readPolicyCheckOutput: read('/policy-checks/:policy_check_id/output', {
    summary: 'Show what the policies of a check printed.',
    answers: {
      200: { ...t.jsonResponse('The log.', t.String()), contentType: 'text/plain' },
      204: t.emptyResponse('There is none.'),
    },
    needs: readers,
  }),
  overridePolicyCheck: action('/policy-checks/:policy_check_id/actions/override', {
    summary: 'Let a run go on although soft-mandatory policies failed. Recorded with who and why.',
    body: t.OptionalBody(CommentRequest),
    returns: PolicyCheck,
    errors: {
      409: 'The check has not soft-failed, so there is nothing to override.',
      422: 'The organization requires a comment, or it is too long.',
    },
    needs: 'Manage policy overrides, or a delegated override right on the project or workspace.',
  }),
})
