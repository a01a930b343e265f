import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, read, remove, blockingRead } from './define.ts'
import { Named, Index, MapOf, Nanoseconds, Nullable, Timestamp, type Infer } from '../schema.ts'
import { AllocationStub } from './allocation.ts'
import { jsonResponse, textError, Uuid } from './shared-schemas.ts'
import { explainQuery, Explanation } from './explain.ts'
import { PlacementMetrics } from './metrics.ts'
import { PlanAnnotations } from './plan-annotations.ts'
import { filterQuery, LenientFlagParameter, TextParameter } from './query.ts'
import { responseMeta } from './write-response.ts'

/** `canceled` has one l here and two in deployments. */
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
export type EvaluationStub = Infer<typeof EvaluationStub>

/** Every field is always there. */
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
export type Evaluation = Infer<typeof Evaluation>

export const EvaluationCount = Named('EvaluationCount', { Count: Type.Integer(), ...responseMeta })
export type EvaluationCount = Infer<typeof EvaluationCount>

/** By ids or by filter, never both. */
export const EvaluationDeleteRequest = Named('EvaluationDeleteRequest', {
  EvalIDs: Type.Array(Type.String()),
  Filter: Type.String(),
})

export const EvaluationDeleteResponse = Named('EvaluationDeleteResponse', {
  Count: Type.Integer(),
  Index: Index(),
})
export type EvaluationDeleteResponse = Infer<typeof EvaluationDeleteResponse>

const unknownEvaluation = textError('`eval not found`')
const byStatusAndJob = {
  status: TextParameter('Only evaluations with this status; not together with `filter`.'),
  job: TextParameter('Only evaluations of this job; not together with `filter`.'),
}

export const evaluationRoutes = routes('Evaluations', {
  listEvaluations: list('/evaluations', {
    summary: 'List evaluations.',
    cost: 2,
    query: { ...byStatusAndJob },
    returns: jsonResponse(Type.Array(Evaluation), 'The evaluations, oldest first.'),
    errors: { 400: '`Filter expression cannot be used with other filter parameters`' },
    needs: 'namespace:read-job',
  }),
  countEvaluations: blockingRead('/evaluations/count', {
    summary: 'Count evaluations.',
    query: { filter: filterQuery, ...byStatusAndJob },
    returns: jsonResponse(EvaluationCount, 'The number.'),
    errors: { 400: '`Filter expression cannot be used with other filter parameters`' },
    needs: 'namespace:read-job',
  }),
  deleteEvaluations: remove('/evaluations', {
    summary: 'Delete evaluations by id or by filter, while the broker is paused.',
    body: EvaluationDeleteRequest,
    returns: jsonResponse(EvaluationDeleteResponse, 'How many were deleted.'),
    answers: { 404: unknownEvaluation },
    errors: { 400: 'Both or neither of ids and filter were given, or the broker is not paused.' },
    needs: 'management',
  }),
  readEvaluation: blockingRead('/evaluation/:eval_id', {
    summary: 'Read one evaluation.',
    query: {
      related: LenientFlagParameter('Include the evaluations that this one made or came from.'),
    },
    returns: jsonResponse(Evaluation, 'The evaluation.'),
    answers: { 404: unknownEvaluation },
    errors: { 400: 'The id is not a UUID.' },
    needs: 'namespace:read-job',
  }),
  listEvaluationAllocations: blockingRead('/evaluation/:eval_id/allocations', {
    summary: 'List the allocations that an evaluation made or changed.',
    returns: jsonResponse(Type.Array(AllocationStub), 'The allocations.'),
    answers: { 404: unknownEvaluation },
    errors: { 400: 'The id is not a UUID.' },
    needs: 'namespace:read-job',
  }),
  explainEvaluation: read('/evaluation/:eval_id/explain', {
    summary: 'Say why an evaluation could not place everything, and what would place it.',
    cost: 2,
    query: explainQuery,
    returns: jsonResponse(Explanation, 'The explanation, worked out against the current state.'),
    answers: { 404: unknownEvaluation },
    errors: { 400: 'The id is not a UUID.' },
    needs: 'namespace:read-job',
  }),
})
