import * as t from './json-api.ts'
import { read, upload, routes } from './define.ts'

export const PLAN_STATUSES = [
  'pending',
  'queued',
  'running',
  'finished',
  'errored',
  'canceled',
  'unreachable',
] as const

const count = t.Integer({ minimum: 0 })

/** The infrastructure plan of a run; named apart from the plans of the scheduler. */
export const RunPlan = t.ResourceOf('RunPlan', 'plans', {
  attributes: t.Object({
    status: t.OneOf(PLAN_STATUSES),
    'status-timestamps': t.StatusTimestamps(),
    'has-changes': t.Boolean(),
    'resource-additions': count,
    'resource-changes': count,
    'resource-destructions': count,
    'resource-imports': count,
    'generated-configuration': t.Boolean(),
    'log-read-url': t.Nullable(
      t.String({ description: 'Absolute, valid for a day; null where the plan is uploaded.' }),
    ),
  }),
  relationships: t.Object({ run: t.ToOne('runs') }),
  links: t.Object({
    self: t.PathLink(),
    'json-output': t.PathLink(),
    upload: t.Optional(t.PathLink('Only while the plan is pending.')),
  }),
})
export type RunPlan = t.Infer<typeof RunPlan>

export const RunPlanDocument = t.DocumentOf(RunPlan)
export type RunPlanDocument = t.Infer<typeof RunPlanDocument>

/**
 * The planning tool's JSON export. Only what the service itself reads is named; everything else is
 * passed to policies as it is.
 */
export const PlanExport = t.Named('PlanExport', {
  format_version: t.String(),
  resource_changes: t.Array(
    t.Object({
      address: t.Optional(t.String()),
      change: t.Optional(
        t.Object({ actions: t.Optional(t.Array(t.String())), importing: t.Optional(t.Unknown()) }),
      ),
    }),
  ),
})

export const runPlanRoutes = routes('Runs', {
  readPlan: read('/plans/:plan_id', {
    summary: 'Show the plan of a run.',
    returns: RunPlan,
    needs: 'Permission to read the runs of the workspace.',
  }),
  uploadPlan: upload('/plans/:plan_id/upload', {
    summary: 'Upload the JSON export of a plan, gzipped if wished; the policies run on it then.',
    bodyBytesMax: t.PLAN_UPLOAD_BYTES_MAX,
    body: t.BinaryBody,
    bodyType: t.BINARY_TYPE,
    answers: { 202: t.jsonResponse('Taken; the policies are running.', RunPlanDocument) },
    errors: {
      409: 'The run has a plan already.',
      413: `Larger than ${t.PLAN_UPLOAD_BYTES_MAX} bytes; nothing is saved.`,
      422: 'Not a JSON object with `format_version` and `resource_changes`.',
    },
    needs: 'Permission to queue plans.',
  }),
  readPlanJson: read('/plans/:plan_id/json-output', {
    summary: 'Show the uploaded plan, with sensitive values masked.',
    answers: {
      200: {
        ...t.jsonResponse('The plan.', t.MapOf(t.Unknown())),
        contentType: 'application/json',
      },
      204: t.emptyResponse('No plan was uploaded yet.'),
    },
    needs: 'Permission to read the runs of the workspace.',
  }),
  readRedactedPlanJson: read('/plans/:plan_id/json-output-redacted', {
    summary: 'Show what a plan changes, as the planning tool renders it, without sensitive values.',
    answers: {
      200: {
        ...t.jsonResponse('The changes.', t.MapOf(t.Unknown())),
        contentType: 'application/json',
      },
      204: t.emptyResponse('The plan has not finished, or was uploaded.'),
    },
    needs: 'Permission to read the runs of the workspace.',
  }),
})
