import { Type } from 'typebox'
import { routes } from '../route.ts'
import { action, list, read } from './define.ts'
import { Named, MapOf, Nullable, type Infer } from '../schema.ts'
import { jsonResponse, emptyResponse } from './answers.ts'
import {
  DocumentOf,
  Flags,
  OneOf,
  OptionalBody,
  PageOnRequestOf,
  PathLink,
  ResourceOf,
  StatusTimestamps,
  ToOne,
} from './json-api.ts'
import { fieldsQuery, includeQuery } from './query.ts'
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

const count = Type.Integer({ minimum: 0 })

/** Combined result of all `native` policies for one run. */
export const PolicyCheckResult = Named('PolicyCheckResult', {
  result: Type.Boolean({
    description: 'True when no mandatory policy failed; an override leaves it.',
  }),
  passed: count,
  'total-failed': count,
  'hard-failed': count,
  'soft-failed': count,
  'advisory-failed': count,
  'duration-ms': count,
  native: Nullable(MapOf(Type.Unknown())),
})
export type PolicyCheckResult = Infer<typeof PolicyCheckResult>

export const PolicyCheck = ResourceOf('PolicyCheck', 'policy-checks', {
  attributes: Type.Object({
    result: Nullable(PolicyCheckResult),
    scope: Type.Literal('organization'),
    status: OneOf(POLICY_CHECK_STATUSES),
    'status-timestamps': StatusTimestamps(),
    actions: Flags(['is-overridable']),
    permissions: Flags(['can-override']),
    override: Nullable(OverrideRecord),
  }),
  relationships: Type.Object({ run: ToOne('runs') }),
  links: Type.Object({ self: PathLink(), output: PathLink() }),
})
export type PolicyCheck = Infer<typeof PolicyCheck>

export const PolicyCheckDocument = DocumentOf(PolicyCheck)

export const PolicyCheckPage = PageOnRequestOf(PolicyCheck)

const readers = 'Permission to read the runs of the workspace.'

export const policyCheckRoutes = routes('Policy checks', {
  listPolicyChecks: list('/runs/:run_id/policy-checks', {
    summary:
      'List the checks of `native` policies of a run; in pages only when a page is asked for.',
    query: { ...includeQuery(POLICY_CHECK_INCLUDES), ...fieldsQuery('policy-checks') },
    returns: PolicyCheckPage,
    needs: readers,
  }),
  readPolicyCheck: read('/policy-checks/:policy_check_id', {
    summary: 'Show a policy check.',
    query: { ...includeQuery(POLICY_CHECK_INCLUDES), ...fieldsQuery('policy-checks') },
    returns: PolicyCheckDocument,
    needs: readers,
  }),
  readPolicyCheckOutput: read('/policy-checks/:policy_check_id/output', {
    summary: 'Show what the policies of a check printed.',
    answers: {
      200: { ...jsonResponse('The log.', Type.String()), contentType: 'text/plain' },
      204: emptyResponse('There is none.'),
    },
    needs: readers,
  }),
  overridePolicyCheck: action('/policy-checks/:policy_check_id/actions/override', {
    summary: 'Let a run go on although soft-mandatory policies failed. Recorded with who and why.',
    body: OptionalBody(CommentRequest),
    returns: PolicyCheckDocument,
    errors: {
      409: 'The check has not soft-failed, so there is nothing to override.',
      422: 'The organization requires a comment, or it is too long.',
    },
    needs: 'Manage policy overrides, or a delegated override right on the project or workspace.',
  }),
})
