import * as t from './json-api.ts'
import { action, create, list, read, update, routes } from './define.ts'

export const RUN_STATUSES = [
  'pending',
  'plan_queued',
  'planning',
  'planned',
  'post_plan_running',
  'post_plan_awaiting_decision',
  'post_plan_completed',
  'policy_checking',
  'policy_override',
  'policy_soft_failed',
  'policy_checked',
  'planned_and_saved',
  'confirmed',
  'apply_queued',
  'applying',
  'applied',
  'discarded',
  'canceled',
  'errored',
  'planned_and_finished',
] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** Operations of a run, for filters. */
export const RUN_OPERATIONS = [
  'plan_and_apply',
  'plan_only',
  'refresh_only',
  'destroy',
  'empty_apply',
] as const

function listFilter(values: string) {
  return t.Optional(t.String({ description: `${values}, separated by commas.` }))
}

/** Cause of a run: a request, an upload of files, another run, or an idle workspace. */
export const RUN_TRIGGER_REASONS = [
  'manual',
  'configuration-upload',
  'run-trigger',
  'auto-destroy',
  'drift-check',
] as const
export type RunTriggerReason = (typeof RUN_TRIGGER_REASONS)[number]

/** Results that an external executor reports for a confirmed run. */
export const REPORTED_RUN_STATUSES = ['applied', 'errored'] as const

/** No run has a cost estimate or a commit of a repository; clients ask for them all the same. */
export const RUN_INCLUDES = [
  'plan',
  'apply',
  'policy_checks',
  'task_stages',
  'created_by',
  'workspace',
  'configuration_version',
  'configuration_version.ingress_attributes',
  'cost_estimate',
] as const

export const RUN_ACTIONS = [
  'is-cancelable',
  'is-confirmable',
  'is-discardable',
  'is-force-cancelable',
] as const
export const RUN_PERMISSIONS = [
  'can-apply',
  'can-cancel',
  'can-discard',
  'can-force-cancel',
  'can-force-execute',
  'can-override-policy-check',
  'can-upload-plan',
] as const

const addresses = t.Array(t.String({ maxLength: t.LINE_LENGTH_MAX }), {
  maxItems: t.RUN_ADDRESSES_MAX,
})

/**
 * A plan and its policy checks. With a configuration version the service executes plan and apply;
 * otherwise an external executor uploads the plan and applies it.
 */
export const Run = t.ResourceOf('Run', 'runs', {
  attributes: t.Object({
    message: t.Nullable(t.String()),
    status: t.OneOf(RUN_STATUSES),
    'status-timestamps': t.StatusTimestamps(),
    source: t.String(),
    'trigger-reason': t.OneOf(RUN_TRIGGER_REASONS),
    'commit-sha': t.Nullable(t.String()),
    'is-destroy': t.Boolean(),
    refresh: t.Boolean(),
    'refresh-only': t.Boolean(),
    'plan-only': t.Boolean(),
    'auto-apply': t.Boolean(),
    'allow-empty-apply': t.Boolean(),
    'has-changes': t.Boolean(),
    'save-plan': t.Boolean(),
    'allow-config-generation': t.Boolean(),
    'position-in-queue': t.Integer({
      minimum: 0,
      description: 'Runs of the organization that are ahead; 0 when it does not wait.',
    }),
    'status-reason': t.Nullable(
      t.String({ description: 'Why the run errored, or what it waits for.' }),
    ),
    'canceled-at': t.Nullable(t.Timestamp()),
    'force-cancel-available-at': t.Nullable(t.Timestamp()),
    'target-addrs': t.Array(t.String()),
    'replace-addrs': t.Array(t.String()),
    // Only the names are returned, because values may be secret.
    variables: t.Array(t.Object({ key: t.String() })),
    'created-at': t.Timestamp(),
    actions: t.Flags(RUN_ACTIONS),
    permissions: t.Flags(RUN_PERMISSIONS),
  }),
  relationships: t.Object({
    workspace: t.ToOne('workspaces'),
    plan: t.ToOne('plans'),
    apply: t.ToOneOrNone('applies'),
    'configuration-version': t.ToOneOrNone('configuration-versions'),
    'created-by': t.ToOne('users'),
    'policy-checks': t.ToMany('policy-checks'),
    'task-stages': t.ToMany('task-stages'),
  }),
  // `plan-upload` is present only while the run waits for its plan.
  links: t.Object({ self: t.PathLink(), 'plan-upload': t.Optional(t.PathLink()) }),
})
export type Run = t.Infer<typeof Run>

export type RunDocument = t.Document<typeof Run>

export type RunPage = t.Page<typeof Run>

export const RunCreateRequest = t.RequestOf('RunCreateRequest', 'runs', {
  attributes: t.Optional(
    t.Object({
      message: t.Optional(t.Nullable(t.String({ maxLength: t.COMMENT_LENGTH_MAX }))),
      source: t.Optional(t.String({ maxLength: t.LINE_LENGTH_MAX })),
      'commit-sha': t.Optional(t.Nullable(t.String({ maxLength: t.LINE_LENGTH_MAX }))),
      'is-destroy': t.Optional(t.Boolean()),
      refresh: t.Optional(t.Boolean()),
      'refresh-only': t.Optional(t.Boolean()),
      'plan-only': t.Optional(t.Boolean()),
      'auto-apply': t.Optional(t.Boolean()),
      'allow-empty-apply': t.Optional(t.Boolean()),
      'save-plan': t.Optional(t.Boolean()),
      'allow-config-generation': t.Optional(t.Boolean()),
      'tool-version': t.Optional(
        t.Nullable(
          t.String({
            maxLength: t.LINE_LENGTH_MAX,
            description: 'Instead of that of the workspace; only with `plan-only`.',
          }),
        ),
      ),
      'target-addrs': t.Optional(t.Nullable(addresses)),
      'replace-addrs': t.Optional(t.Nullable(addresses)),
      variables: t.Optional(
        t.Nullable(
          t.Array(
            t.Object({
              key: t.String({ minLength: 1, maxLength: t.PARAMETER_KEY_LENGTH_MAX }),
              value: t.String({ maxLength: t.PARAMETER_VALUE_LENGTH_MAX }),
            }),
            { maxItems: t.RUN_VARIABLES_MAX },
          ),
        ),
      ),
    }),
  ),
  relationships: t.Object({
    workspace: t.ToOne('workspaces'),
    'configuration-version': t.Optional(t.ToOneOrNone('configuration-versions')),
  }),
})
export type RunCreateRequest = t.Infer<typeof RunCreateRequest>

/** Report of an external executor on the result of the apply. */
export const RunReportRequest = t.RequestOf('RunReportRequest', 'runs', {
  attributes: t.Object({ status: t.OneOf(REPORTED_RUN_STATUSES) }),
})

/** A reason for a decision, also sent with overrides. Plain JSON, not a JSON:API document. */
export const CommentRequest = t.Named('CommentRequest', {
  comment: t.Optional(t.Nullable(t.String({ maxLength: t.COMMENT_LENGTH_MAX }))),
})

/** Record of an override of policies: author and reason. Specific to this product. */
export const OverrideRecord = t.Named('OverrideRecord', {
  'user-id': t.String(),
  username: t.String(),
  'overridden-at': t.Timestamp(),
  comment: t.Nullable(t.String()),
})
export type OverrideRecord = t.Infer<typeof OverrideRecord>

export const runRoutes = routes('Runs', {
  createRun: create('/runs', {
    summary:
      'Create a run in a workspace. With a configuration version it is executed; without one its plan is uploaded to `links.plan-upload`.',
    body: RunCreateRequest,
    returns: Run,
    result: 'Created, pending.',
    errors: {
      404: 'Workspace not found, or the caller may not queue plans in it.',
      422: 'A rule on an attribute is broken, or the configuration version is not uploaded.',
    },
    needs: 'Permission to queue plans; an organization token never has it.',
  }),
  listWorkspaceRuns: list('/workspaces/:workspace_id/runs', {
    summary: 'List the runs of a workspace, newest first.',
    query: {
      'filter[status]': listFilter('Statuses'),
      'filter[operation]': listFilter(`Of ${RUN_OPERATIONS.join(', ')}`),
      'filter[source]': listFilter('Sources'),
      'search[user]': t.Optional(
        t.String({ description: 'Name of the user who created the run.' }),
      ),
      'search[commit]': t.Optional(t.String({ description: 'The beginning of the commit.' })),
      'search[basic]': t.Optional(
        t.String({ description: 'Part of the id, message, commit or user, case ignored.' }),
      ),
      ...t.includeQuery(RUN_INCLUDES),
    },
    returns: Run,
    needs: 'Permission to read the runs of the workspace.',
  }),
  readRun: read('/runs/:run_id', {
    summary: 'Show a run, at once or when nothing more happens to it by itself.',
    query: {
      wait: t.Optional(
        t.Integer({
          minimum: 0,
          maximum: t.RUN_WAIT_SECONDS_MAX,
          description: 'Seconds to wait until it has ended or waits for a decision.',
        }),
      ),
      ...t.includeQuery(RUN_INCLUDES),
    },
    returns: Run,
    needs: 'Permission to read the runs of the workspace.',
  }),
  reportRun: update('/runs/:run_id', {
    summary: 'Report how the apply of a confirmed run ended.',
    body: RunReportRequest,
    returns: Run,
    result: 'The run.',
    errors: {
      409: 'The run is not confirmed, or the id in the body is not the one in the path.',
      422: 'The status is not one that can be reported.',
    },
    needs: 'Permission to apply runs.',
  }),
  applyRun: action('/runs/:run_id/actions/apply', {
    summary: 'Confirm a run whose policies passed or were overridden.',
    body: t.OptionalBody(CommentRequest),
    answers: { 202: t.emptyResponse('Confirmed.') },
    errors: {
      409: 'The run is not waiting for confirmation.',
      422: 'The comment is too long or not text.',
    },
    needs: 'Permission to apply runs.',
  }),
  discardRun: action('/runs/:run_id/actions/discard', {
    summary: 'Discard a run that waits for a decision.',
    growsState: false,
    body: t.OptionalBody(CommentRequest),
    answers: { 202: t.emptyResponse('Discarded.') },
    errors: {
      409: 'The run is not waiting for a decision.',
      422: 'The comment is too long or not text.',
    },
    needs: 'Permission to apply runs.',
  }),
  cancelRun: action('/runs/:run_id/actions/cancel', {
    summary: 'Cancel a run that is still being worked on.',
    growsState: false,
    body: t.OptionalBody(CommentRequest),
    answers: { 202: t.emptyResponse('Canceled.') },
    errors: { 409: 'The run has ended already.', 422: 'The comment is too long or not text.' },
    needs: 'Permission to apply runs, or the user who created the run.',
  }),
  forceCancelRun: action('/runs/:run_id/actions/force-cancel', {
    summary: 'Kill a run that did not stop after it was canceled. The workspace may stay locked.',
    growsState: false,
    body: t.OptionalBody(CommentRequest),
    answers: { 202: t.emptyResponse('Canceled.') },
    errors: {
      409: 'The run was not canceled, or `force-cancel-available-at` has not come.',
      422: 'The comment is too long or not text.',
    },
    needs: 'Admin of the workspace.',
  }),
  forceExecuteRun: action('/runs/:run_id/actions/force-execute', {
    summary: 'Cancel or discard everything ahead of a pending run in its workspace.',
    growsState: false,
    body: t.OptionalBody(CommentRequest),
    answers: { 202: t.emptyResponse('The run is next.') },
    errors: { 409: 'The run is not pending, or something ahead of it cannot be canceled.' },
    needs: 'Admin of the workspace.',
  }),
})
