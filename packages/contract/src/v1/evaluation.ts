import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, MapOf, Nanoseconds, Nullable, Timestamp, type Input, type Shape } from '../shape.ts'
import { AllocationStub } from './allocation.ts'
import { denied, ok, refused } from './answer.ts'
import { ExplainQuery, Explanation } from './explain.ts'
import { Uuid } from './identifier.ts'
import { PlacementMetrics } from './metrics.ts'
import { PlanAnnotations } from './plan-annotations.ts'
import {
  blocking,
  BlockingQuery,
  common,
  filter,
  LenientFlag,
  listing,
  Text,
  WriteQuery,
} from './query.ts'
import { responseMeta } from './write-response.ts'

/** Reference §4.6; `canceled` has one l here and two in deployments. */
export const EVALUATION_STATUSES = ['pending', 'blocked', 'complete', 'failed', 'canceled'] as const
export type EvaluationStatus = (typeof EVALUATION_STATUSES)[number]

export const TRIGGERS = [
  'job-register',
  'job-deregister',
  'periodic-job',
  'node-drain',
  'node-update',
  'alloc-stop',
  'scheduled',
  'rolling-update',
  'deployment-watcher',
  'failed-follow-up',
  'max-plan-attempts',
  'alloc-failure',
  'alloc-reschedule',
  'queued-allocs',
  'preemption',
  'job-scaling',
  'max-disconnect-timeout',
  'reconnect',
] as const
export type Trigger = (typeof TRIGGERS)[number]

const stubFields = {
  ID: Uuid(),
  Namespace: Type.String(),
  Priority: Type.Integer(),
  Type: Type.String({ description: 'Which scheduler runs it: the type of the job.' }),
  TriggeredBy: Type.Enum(TRIGGERS),
  JobID: Type.String(),
  NodeID: Type.String(),
  DeploymentID: Type.String(),
  Status: Type.Enum(EVALUATION_STATUSES),
  StatusDescription: Type.String(),
  WaitUntil: Timestamp('The zero time when it does not wait.'),
  NextEval: Type.String({ description: 'The delayed one that this one made.' }),
  PreviousEval: Type.String({ description: 'The one that made this one.' }),
  BlockedEval: Type.String({ description: 'The one that waits for room on behalf of this one.' }),
  CreateIndex: Index(),
  ModifyIndex: Index(),
  CreateTime: Nanoseconds(),
  ModifyTime: Nanoseconds(),
}

export const EvaluationStub = Type.Object(stubFields, {
  $id: 'EvaluationStub',
  description: 'An evaluation among the relatives of another.',
})
export type EvaluationStub = Shape<typeof EvaluationStub>

/** Spec W: Resources, Evaluation; every field is always there (reference §0.2). */
export const Evaluation = Type.Object(
  {
    ...stubFields,
    JobModifyIndex: Index(),
    NodeModifyIndex: Index(),
    Wait: Nanoseconds(),
    RelatedEvals: Nullable(Type.Array(EvaluationStub, { description: 'With `related=true`.' })),
    FailedTGAllocs: Nullable(MapOf(PlacementMetrics)),
    PlanAnnotations: Nullable(PlanAnnotations),
    ClassEligibility: Nullable(MapOf(Type.Boolean())),
    QuotaLimitReached: Type.String(),
    EscapedComputedClass: Type.Boolean(),
    AnnotatePlan: Type.Boolean(),
    QueuedAllocations: Nullable(MapOf(Type.Integer())),
    SnapshotIndex: Index('The state the scheduler worked on.'),
  },
  { $id: 'Evaluation', description: 'One request to bring a job or node to its desired state.' },
)
export type Evaluation = Shape<typeof Evaluation>

export const EvaluationCount = Type.Object(
  { Count: Type.Integer(), ...responseMeta },
  { $id: 'EvaluationCount' },
)
export type EvaluationCount = Shape<typeof EvaluationCount>

/** Reference §8.2: by ids or by filter, never both. */
export const EvaluationDeleteRequest = Type.Object(
  { EvalIDs: Type.Array(Type.String()), Filter: Type.String() },
  { $id: 'EvaluationDeleteRequest' },
)
export type EvaluationDeleteRequest = Input<Shape<typeof EvaluationDeleteRequest>>

export const EvaluationDeleteResponse = Type.Object(
  { Count: Type.Integer(), Index: Index() },
  { $id: 'EvaluationDeleteResponse' },
)
export type EvaluationDeleteResponse = Shape<typeof EvaluationDeleteResponse>

const EvaluationPath = Type.Object({ eval_id: Type.String() })
const unknownEvaluation = refused('`eval not found`')
const byStatusAndJob = {
  status: Text('Only evaluations with this status; not together with `filter`.'),
  job: Text('Only evaluations of this job; not together with `filter`.'),
}

export const evaluationRoutes = {
  listEvaluations: route({
    id: 'listEvaluations',
    methods: ['GET'],
    path: '/v1/evaluations',
    cost: 2,
    summary: 'List evaluations.',
    section: 'Evaluations',
    query: Type.Object({ ...common, ...blocking, ...listing, ...byStatusAndJob }),
    answers: {
      200: ok(Type.Array(Evaluation), 'The evaluations, oldest first.'),
      400: refused('`Filter expression cannot be used with other filter parameters`'),
      403: denied,
    },
    blocking: true,
    needs: 'namespace:read-job',
  }),
  countEvaluations: route({
    id: 'countEvaluations',
    methods: ['GET'],
    path: '/v1/evaluations/count',
    summary: 'Count evaluations.',
    section: 'Evaluations',
    query: Type.Object({ ...common, ...blocking, filter, ...byStatusAndJob }),
    answers: {
      200: ok(EvaluationCount, 'The number.'),
      400: refused('`Filter expression cannot be used with other filter parameters`'),
      403: denied,
    },
    blocking: true,
    needs: 'namespace:read-job',
  }),
  deleteEvaluations: route({
    id: 'deleteEvaluations',
    methods: ['DELETE'],
    path: '/v1/evaluations',
    summary: 'Delete evaluations by id or by filter, while the broker is paused.',
    section: 'Evaluations',
    query: WriteQuery,
    body: EvaluationDeleteRequest,
    answers: {
      200: ok(EvaluationDeleteResponse, 'How many were deleted.'),
      400: refused('Both or neither of ids and filter were given, or the broker is not paused.'),
      403: denied,
      404: unknownEvaluation,
    },
    needs: 'management',
  }),
  readEvaluation: route({
    id: 'readEvaluation',
    methods: ['GET'],
    path: '/v1/evaluation/:eval_id',
    summary: 'Read one evaluation.',
    section: 'Evaluations',
    params: EvaluationPath,
    query: Type.Object({
      ...common,
      ...blocking,
      related: LenientFlag('Include the evaluations that this one made or came from.'),
    }),
    answers: {
      200: ok(Evaluation, 'The evaluation.'),
      400: refused('The id is not a UUID.'),
      404: unknownEvaluation,
    },
    blocking: true,
    needs: 'namespace:read-job',
  }),
  listEvaluationAllocations: route({
    id: 'listEvaluationAllocations',
    methods: ['GET'],
    path: '/v1/evaluation/:eval_id/allocations',
    summary: 'List the allocations that an evaluation made or changed.',
    section: 'Evaluations',
    params: EvaluationPath,
    query: BlockingQuery,
    answers: {
      200: ok(Type.Array(AllocationStub), 'The allocations.'),
      400: refused('The id is not a UUID.'),
      404: unknownEvaluation,
    },
    blocking: true,
    needs: 'namespace:read-job',
  }),
  explainEvaluation: route({
    id: 'explainEvaluation',
    methods: ['GET'],
    path: '/v1/evaluation/:eval_id/explain',
    cost: 2,
    summary: 'Say why an evaluation could not place everything, and what would place it.',
    section: 'Evaluations',
    params: EvaluationPath,
    query: ExplainQuery,
    answers: {
      200: ok(Explanation, 'The explanation, worked out against the current state.'),
      400: refused('The id is not a UUID.'),
      404: unknownEvaluation,
    },
    needs: 'namespace:read-job',
  }),
} as const
