import * as t from './json-api.ts'
import { action, list, read, routes } from './define.ts'
import { CommentRequest, OverrideRecord } from './run.ts'

export const TASK_STAGE_STATUSES = [
  'pending',
  'running',
  'passed',
  'failed',
  'awaiting_override',
  'errored',
  'canceled',
  'unreachable',
] as const

/** Clients ask for `task_results` as well, of which no stage has any. */
export const TASK_STAGE_INCLUDES = ['policy_evaluations', 'task_results'] as const

/** The part of a run after its plan in which `opa` policies are evaluated. */
export const TaskStage = t.ResourceOf('TaskStage', 'task-stages', {
  attributes: t.Object({
    stage: t.Literal('post_plan'),
    status: t.OneOf(TASK_STAGE_STATUSES),
    'status-timestamps': t.StatusTimestamps(),
    'created-at': t.Timestamp(),
    'updated-at': t.Timestamp(),
    actions: t.Flags(['is-overridable']),
    permissions: t.Flags(['can-override-policy']),
    override: t.Nullable(OverrideRecord),
  }),
  relationships: t.Object({
    run: t.ToOne('runs'),
    'policy-evaluations': t.ToMany('policy-evaluations'),
  }),
  links: t.SelfLink(),
})
export type TaskStage = t.Infer<typeof TaskStage>

const readers = 'Permission to read the runs of the workspace.'

export const taskStageRoutes = routes('Policy evaluations', {
  listTaskStages: list('/runs/:run_id/task-stages', {
    summary: 'List the task stages of a run.',
    query: t.includeQuery(TASK_STAGE_INCLUDES),
    returns: TaskStage,
    needs: readers,
  }),
  readTaskStage: read('/task-stages/:task_stage_id', {
    summary: 'Show a task stage.',
    query: t.includeQuery(TASK_STAGE_INCLUDES),
    returns: TaskStage,
    needs: readers,
  }),
  overrideTaskStage: action('/task-stages/:task_stage_id/actions/override', {
    summary:
      'Let a run go on although policies of overridable sets failed. Recorded with who and why.',
    body: t.OptionalBody(CommentRequest),
    returns: TaskStage,
    errors: {
      409: 'The stage is not waiting for an override.',
      422: 'The organization requires a comment, or it is too long.',
    },
    needs: 'Manage policy overrides, or a delegated override right on the project or workspace.',
  }),
})
