import { Type } from 'typebox'
import { routes } from '../route.ts'
import { action, list, read } from './define.ts'
import { Nullable, Timestamp, type Infer } from '../schema.ts'
import {
  DocumentOf,
  Flags,
  OneOf,
  OptionalBody,
  PageOf,
  ResourceOf,
  SelfLink,
  StatusTimestamps,
  ToMany,
  ToOne,
} from './json-api.ts'
import { fieldsQuery, includeQuery } from './query.ts'
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
export const TaskStage = ResourceOf('TaskStage', 'task-stages', {
  attributes: Type.Object({
    stage: Type.Literal('post_plan'),
    status: OneOf(TASK_STAGE_STATUSES),
    'status-timestamps': StatusTimestamps(),
    'created-at': Timestamp(),
    'updated-at': Timestamp(),
    actions: Flags(['is-overridable']),
    permissions: Flags(['can-override-policy']),
    override: Nullable(OverrideRecord),
  }),
  relationships: Type.Object({
    run: ToOne('runs'),
    'policy-evaluations': ToMany('policy-evaluations'),
  }),
  links: SelfLink(),
})
export type TaskStage = Infer<typeof TaskStage>

export const TaskStageDocument = DocumentOf(TaskStage)

export const TaskStagePage = PageOf(TaskStage)

const readers = 'Permission to read the runs of the workspace.'

export const taskStageRoutes = routes('Policy evaluations', {
  listTaskStages: list('/runs/:run_id/task-stages', {
    summary: 'List the task stages of a run.',
    query: { ...includeQuery(TASK_STAGE_INCLUDES), ...fieldsQuery('task-stages') },
    returns: TaskStagePage,
    needs: readers,
  }),
  readTaskStage: read('/task-stages/:task_stage_id', {
    summary: 'Show a task stage.',
    query: { ...includeQuery(TASK_STAGE_INCLUDES), ...fieldsQuery('task-stages') },
    returns: TaskStageDocument,
    needs: readers,
  }),
  overrideTaskStage: action('/task-stages/:task_stage_id/actions/override', {
    summary:
      'Let a run go on although policies of overridable sets failed. Recorded with who and why.',
    body: OptionalBody(CommentRequest),
    returns: TaskStageDocument,
    errors: {
      409: 'The stage is not waiting for an override.',
      422: 'The organization requires a comment, or it is too long.',
    },
    needs: 'Manage policy overrides, or a delegated override right on the project or workspace.',
  }),
})
