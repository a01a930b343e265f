import * as t from './shared-schemas.ts'
import { list, read, remove, blockingRead, routes } from './define.ts'
import { AllocationStub } from './allocation.ts'
import { explainQuery, Explanation } from './explain.ts'
import { PlacementMetrics } from './metrics.ts'
import { PlanAnnotations } from './plan-annotations.ts'
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
  ID: t.Uuid(),
  Namespace: t.String(),
  Priority: t.Integer(),
  Type: t.String({ description: 'Which scheduler runs it: the type of the job.' }),
  TriggeredBy: t.Enum(TRIGGERS),
  JobID: t.String(),
  NodeID: t.String(),
  DeploymentID: t.String(),
  Status: t.Enum(EVALUATION_STATUSES),
  StatusDescription: t.String(),
  WaitUntil: t.Timestamp('The zero time when it does not wait.'),
  NextEval: t.String({ description: 'The delayed one that this one made.' }),
  PreviousEval: t.String({ description: 'The one that made this one.' }),
  BlockedEval: t.String({ description: 'The one that waits for room on behalf of this one.' }),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
  CreateTime: t.Nanoseconds(),
  ModifyTime: t.Nanoseconds(),
}

export const EvaluationStub = t.Object(stubFields, {
  $id: 'EvaluationStub',
  description: 'An evaluation among the relatives of another.',
})
export type EvaluationStub = t.Infer<typeof EvaluationStub>

/** Every field is always there. */
export const Evaluation = t.Object(
  {
    ...stubFields,
    JobModifyIndex: t.Index(),
    NodeModifyIndex: t.Index(),
    Wait: t.Nanoseconds(),
    RelatedEvals: t.Nullable(t.Array(EvaluationStub, { description: 'With `related=true`.' })),
    FailedTGAllocs: t.Nullable(t.MapOf(PlacementMetrics)),
    PlanAnnotations: t.Nullable(PlanAnnotations),
    ClassEligibility: t.Nullable(t.MapOf(t.Boolean())),
    QuotaLimitReached: t.String(),
    EscapedComputedClass: t.Boolean(),
    AnnotatePlan: t.Boolean(),
    QueuedAllocations: t.Nullable(t.MapOf(t.Integer())),
    SnapshotIndex: t.Index('The state the scheduler worked on.'),
  },
  { $id: 'Evaluation', description: 'One request to bring a job or node to its desired state.' },
)
export type Evaluation = t.Infer<typeof Evaluation>

export const EvaluationCount = t.Named('EvaluationCount', { Count: t.Integer(), ...responseMeta })
export type EvaluationCount = t.Infer<typeof EvaluationCount>

/** Selects evaluations by ID or by filter, not both. */
export const EvaluationDeleteRequest = t.Named('EvaluationDeleteRequest', {
  EvalIDs: t.Array(t.String()),
  Filter: t.String(),
})

export const EvaluationDeleteResponse = t.Named('EvaluationDeleteResponse', {
  Count: t.Integer(),
  Index: t.Index(),
})
export type EvaluationDeleteResponse = t.Infer<typeof EvaluationDeleteResponse>

const unknownEvaluation = t.textError('`eval not found`')
const byStatusAndJob = {
  status: t.TextParameter('Only evaluations with this status; not together with `filter`.'),
  job: t.TextParameter('Only evaluations of this job; not together with `filter`.'),
}

export const evaluationRoutes = routes('Evaluations', {
  listEvaluations: list('/evaluations', {
    summary: 'List evaluations.',
    cost: 2,
    query: { ...byStatusAndJob },
    returns: t.jsonResponse(t.Array(Evaluation), 'The evaluations, oldest first.'),
    errors: { 400: '`Filter expression cannot be used with other filter parameters`' },
    needs: 'namespace:read-job',
  }),
  countEvaluations: blockingRead('/evaluations/count', {
    summary: 'Count evaluations.',
    query: { filter: t.filterQuery, ...byStatusAndJob },
    returns: t.jsonResponse(EvaluationCount, 'The number.'),
    errors: { 400: '`Filter expression cannot be used with other filter parameters`' },
    needs: 'namespace:read-job',
  }),
  deleteEvaluations: remove('/evaluations', {
    summary: 'Delete evaluations by id or by filter, while the broker is paused.',
    body: EvaluationDeleteRequest,
    returns: t.jsonResponse(EvaluationDeleteResponse, 'How many were deleted.'),
    answers: { 404: unknownEvaluation },
    errors: { 400: 'Both or neither of ids and filter were given, or the broker is not paused.' },
    needs: 'management',
  }),
  readEvaluation: blockingRead('/evaluation/:eval_id', {
    summary: 'Read one evaluation.',
    query: {
      related: t.LenientFlagParameter('Include the evaluations that this one made or came from.'),
    },
    returns: t.jsonResponse(Evaluation, 'The evaluation.'),
    needs: 'namespace:read-job',
  }),
  listEvaluationAllocations: blockingRead('/evaluation/:eval_id/allocations', {
    summary: 'List the allocations that an evaluation made or changed.',
    returns: t.jsonResponse(t.Array(AllocationStub), 'The allocations.'),
    needs: 'namespace:read-job',
  }),
  explainEvaluation: read('/evaluation/:eval_id/explain', {
    summary: 'Say why an evaluation could not place everything, and what would place it.',
    cost: 2,
    query: explainQuery,
    returns: t.jsonResponse(Explanation, 'The explanation, worked out against the current state.'),
    needs: 'namespace:read-job',
  }),
})
