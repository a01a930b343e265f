import { Type } from 'typebox'
import { route } from '../route.ts'
import { Nullable, Timestamp, type Shape } from '../shape.ts'
import { answer, bodyRefusals, refusals } from './answers.ts'
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
import { RunPath, TaskStagePath } from './paths.ts'
import { PrefixedId } from './patterns.ts'
import { fieldsQuery, includeQuery, pageQuery } from './query.ts'
import { CommentRequest, OverrideRecord } from './run.ts'

/** Reference §4.8. */
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

export const TASK_STAGE_INCLUDES = ['policy_evaluations'] as const

/** The part of a run after its plan in which `opa` policies are evaluated. */
export const TaskStage = ResourceOf({
  $id: 'TaskStage',
  type: 'task-stages',
  id: PrefixedId('task-stages'),
  members: {
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
  },
})
export type TaskStage = Shape<typeof TaskStage>

export const TaskStageDocument = DocumentOf('TaskStageDocument', TaskStage)
export type TaskStageDocument = Shape<typeof TaskStageDocument>

export const TaskStagePage = PageOf('TaskStagePage', TaskStage)
export type TaskStagePage = Shape<typeof TaskStagePage>

const section = 'Policy evaluations'
const readers = 'Permission to read the runs of the workspace.'

export const taskStageRoutes = {
  listTaskStages: route({
    id: 'listTaskStages',
    methods: ['GET'],
    path: '/api/v2/runs/:run_id/task-stages',
    summary: 'List the task stages of a run.',
    section,
    params: RunPath,
    query: Type.Object({
      ...pageQuery,
      ...includeQuery(TASK_STAGE_INCLUDES),
      ...fieldsQuery('task-stages'),
    }),
    answers: {
      200: answer('One page of task stages.', TaskStagePage),
      ...refusals({ 404: 'Run not found, or not visible to the caller.' }),
    },
    needs: readers,
  }),
  readTaskStage: route({
    id: 'readTaskStage',
    methods: ['GET'],
    path: '/api/v2/task-stages/:task_stage_id',
    summary: 'Show a task stage.',
    section,
    params: TaskStagePath,
    query: Type.Object({ ...includeQuery(TASK_STAGE_INCLUDES), ...fieldsQuery('task-stages') }),
    answers: {
      200: answer('The task stage.', TaskStageDocument),
      ...refusals({ 404: 'Task stage not found, or not visible to the caller.' }),
    },
    needs: readers,
  }),
  overrideTaskStage: route({
    id: 'overrideTaskStage',
    methods: ['POST'],
    path: '/api/v2/task-stages/:task_stage_id/actions/override',
    summary:
      'Let a run go on although policies of overridable sets failed. Recorded with who and why.',
    section,
    params: TaskStagePath,
    body: OptionalBody(CommentRequest),
    answers: {
      200: answer('The overridden stage.', TaskStageDocument),
      ...bodyRefusals({
        404: 'Task stage not found, or the caller may not override it.',
        409: 'The stage is not waiting for an override.',
        422: 'The organization requires a comment, or it is too long.',
      }),
    },
    needs: 'Manage policy overrides, or a delegated override right on the project or workspace.',
  }),
} as const
