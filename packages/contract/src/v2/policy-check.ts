import { Type } from 'typebox'
import { route } from '../route.ts'
import { MapOf, Nullable, type Shape } from '../shape.ts'
import { answer, bodyRefusals, emptyAnswer, refusals } from './answers.ts'
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
import { PolicyCheckPath, RunPath } from './paths.ts'
import { PrefixedId } from './patterns.ts'
import { fieldsQuery, pageQuery } from './query.ts'
import { CommentRequest, OverrideRecord } from './run.ts'

/** Reference §4.8. */
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

const count = Type.Integer({ minimum: 0 })

/** What all `native` policies said about one run. */
export const PolicyCheckResult = Type.Object(
  {
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
  },
  { $id: 'PolicyCheckResult' },
)
export type PolicyCheckResult = Shape<typeof PolicyCheckResult>

export const PolicyCheck = ResourceOf({
  $id: 'PolicyCheck',
  type: 'policy-checks',
  id: PrefixedId('policy-checks'),
  members: {
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
  },
})
export type PolicyCheck = Shape<typeof PolicyCheck>

export const PolicyCheckDocument = DocumentOf('PolicyCheckDocument', PolicyCheck)
export type PolicyCheckDocument = Shape<typeof PolicyCheckDocument>

export const PolicyCheckPage = PageOnRequestOf('PolicyCheckPage', PolicyCheck)
export type PolicyCheckPage = Shape<typeof PolicyCheckPage>

const section = 'Policy checks'
const readers = 'Permission to read the runs of the workspace.'
const unseen = 'Policy check not found, or not visible to the caller.'

export const policyCheckRoutes = {
  listPolicyChecks: route({
    id: 'listPolicyChecks',
    methods: ['GET'],
    path: '/api/v2/runs/:run_id/policy-checks',
    summary:
      'List the checks of `native` policies of a run; in pages only when a page is asked for.',
    section,
    params: RunPath,
    query: Type.Object({ ...pageQuery, ...fieldsQuery('policy-checks') }),
    answers: {
      200: answer('Policy checks.', PolicyCheckPage),
      ...refusals({ 404: 'Run not found, or not visible to the caller.' }),
    },
    needs: readers,
  }),
  readPolicyCheck: route({
    id: 'readPolicyCheck',
    methods: ['GET'],
    path: '/api/v2/policy-checks/:policy_check_id',
    summary: 'Show a policy check.',
    section,
    params: PolicyCheckPath,
    query: Type.Object(fieldsQuery('policy-checks')),
    answers: {
      200: answer('The policy check.', PolicyCheckDocument),
      ...refusals({ 404: unseen }),
    },
    needs: readers,
  }),
  readPolicyCheckOutput: route({
    id: 'readPolicyCheckOutput',
    methods: ['GET'],
    path: '/api/v2/policy-checks/:policy_check_id/output',
    summary: 'Show what the policies of a check printed.',
    section,
    params: PolicyCheckPath,
    answers: {
      200: { ...answer('The log.', Type.String()), contentType: 'text/plain' },
      204: emptyAnswer('There is none.'),
      ...refusals({ 404: unseen }),
    },
    needs: readers,
  }),
  overridePolicyCheck: route({
    id: 'overridePolicyCheck',
    methods: ['POST'],
    path: '/api/v2/policy-checks/:policy_check_id/actions/override',
    summary: 'Let a run go on although soft-mandatory policies failed. Recorded with who and why.',
    section,
    params: PolicyCheckPath,
    body: OptionalBody(CommentRequest),
    answers: {
      200: answer('The overridden check.', PolicyCheckDocument),
      ...bodyRefusals({
        404: 'Policy check not found, or the caller may not override it.',
        409: 'The check has not soft-failed, so there is nothing to override.',
        422: 'The organization requires a comment, or it is too long.',
      }),
    },
    needs: 'Manage policy overrides, or a delegated override right on the project or workspace.',
  }),
} as const
