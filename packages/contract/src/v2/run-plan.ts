import { Type } from 'typebox'
import { routes } from '../route.ts'
import { read, upload } from './define.ts'
import { Named, MapOf, Nullable, type Infer } from '../schema.ts'
import { jsonResponse, emptyResponse } from './answers.ts'
import {
  DocumentOf,
  BINARY_TYPE,
  BinaryBody,
  OneOf,
  PathLink,
  ResourceOf,
  StatusTimestamps,
  ToOne,
} from './json-api.ts'
import { PLAN_UPLOAD_BYTES_MAX } from './limits.ts'
import { fieldsQuery } from './query.ts'

export const PLAN_STATUSES = [
  'pending',
  'queued',
  'running',
  'finished',
  'errored',
  'canceled',
  'unreachable',
] as const

const count = Type.Integer({ minimum: 0 })

/** The infrastructure plan of a run; named apart from the plans of the scheduler. */
export const RunPlan = ResourceOf('RunPlan', 'plans', {
  attributes: Type.Object({
    status: OneOf(PLAN_STATUSES),
    'status-timestamps': StatusTimestamps(),
    'has-changes': Type.Boolean(),
    'resource-additions': count,
    'resource-changes': count,
    'resource-destructions': count,
    'resource-imports': count,
    'generated-configuration': Type.Boolean(),
    'log-read-url': Nullable(
      Type.String({ description: 'Absolute, valid for a day; null where the plan is uploaded.' }),
    ),
  }),
  relationships: Type.Object({ run: ToOne('runs') }),
  links: Type.Object({
    self: PathLink(),
    'json-output': PathLink(),
    upload: Type.Optional(PathLink('Only while the plan is pending.')),
  }),
})
export type RunPlan = Infer<typeof RunPlan>

export const RunPlanDocument = DocumentOf(RunPlan)
export type RunPlanDocument = Infer<typeof RunPlanDocument>

/**
 * The planning tool's JSON export. Only what the service itself reads is named; everything else is
 * passed to policies as it is.
 */
export const PlanExport = Named('PlanExport', {
  format_version: Type.String(),
  resource_changes: Type.Array(
    Type.Object({
      address: Type.Optional(Type.String()),
      change: Type.Optional(
        Type.Object({
          actions: Type.Optional(Type.Array(Type.String())),
          importing: Type.Optional(Type.Unknown()),
        }),
      ),
    }),
  ),
})

export const runPlanRoutes = routes('Runs', {
  readPlan: read('/plans/:plan_id', {
    summary: 'Show the plan of a run.',
    query: fieldsQuery('plans'),
    returns: RunPlanDocument,
    needs: 'Permission to read the runs of the workspace.',
  }),
  uploadPlan: upload('/plans/:plan_id/upload', {
    summary: 'Upload the JSON export of a plan, gzipped if wished; the policies run on it then.',
    bodyBytesMax: PLAN_UPLOAD_BYTES_MAX,
    body: BinaryBody,
    bodyType: BINARY_TYPE,
    answers: { 202: jsonResponse('Taken; the policies are running.', RunPlanDocument) },
    errors: {
      409: 'The run has a plan already.',
      413: `Larger than ${PLAN_UPLOAD_BYTES_MAX} bytes; nothing is saved.`,
      422: 'Not a JSON object with `format_version` and `resource_changes`.',
    },
    needs: 'Permission to queue plans.',
  }),
  readPlanJson: read('/plans/:plan_id/json-output', {
    summary: 'Show the uploaded plan, with sensitive values masked.',
    answers: {
      200: { ...jsonResponse('The plan.', MapOf(Type.Unknown())), contentType: 'application/json' },
      204: emptyResponse('No plan was uploaded yet.'),
    },
    needs: 'Permission to read the runs of the workspace.',
  }),
  readRedactedPlanJson: read('/plans/:plan_id/json-output-redacted', {
    summary: 'Show what a plan changes, as the planning tool renders it, without sensitive values.',
    answers: {
      200: {
        ...jsonResponse('The changes.', MapOf(Type.Unknown())),
        contentType: 'application/json',
      },
      204: emptyResponse('The plan has not finished, or was uploaded.'),
    },
    needs: 'Permission to read the runs of the workspace.',
  }),
})
