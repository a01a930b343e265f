import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, MapOf, Nanoseconds, Nullable, Timestamp, type Input, type Shape } from '../shape.ts'
import { AllocationStub } from './allocation.ts'
import { denied, ok, refused, WRITE } from './answer.ts'
import { Uuid } from './identifier.ts'
import { BlockingQuery, ListQuery, WriteQuery } from './query.ts'

/** Reference §4.7; `cancelled` has two l here and one in evaluations. */
export const DEPLOYMENT_STATUSES = [
  'running',
  'paused',
  'failed',
  'successful',
  'cancelled',
  'initializing',
  'pending',
  'blocked',
  'unblocking',
] as const
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number]

export const DeploymentGroupState = Type.Object(
  {
    AutoRevert: Type.Boolean(),
    AutoPromote: Type.Boolean(),
    ProgressDeadline: Nanoseconds(),
    RequireProgressBy: Timestamp(),
    Promoted: Type.Boolean(),
    PlacedCanaries: Nullable(Type.Array(Type.String(), { description: 'Allocation ids.' })),
    DesiredCanaries: Type.Integer(),
    DesiredTotal: Type.Integer(),
    PlacedAllocs: Type.Integer(),
    HealthyAllocs: Type.Integer(),
    UnhealthyAllocs: Type.Integer(),
  },
  { $id: 'DeploymentGroupState' },
)
export type DeploymentGroupState = Shape<typeof DeploymentGroupState>

/** Spec W: Resources, Deployment; the rest from reference §4.7. */
export const Deployment = Type.Object(
  {
    ID: Uuid(),
    Namespace: Type.String(),
    JobID: Type.String(),
    JobVersion: Type.Integer(),
    JobModifyIndex: Index(),
    JobSpecModifyIndex: Index(),
    JobCreateIndex: Index(),
    IsMultiregion: Type.Boolean(),
    TaskGroups: MapOf(DeploymentGroupState),
    Status: Type.Enum(DEPLOYMENT_STATUSES),
    StatusDescription: Type.String(),
    EvalPriority: Type.Integer(),
    CreateIndex: Index(),
    ModifyIndex: Index(),
    CreateTime: Nanoseconds(),
    ModifyTime: Nanoseconds(),
  },
  { $id: 'Deployment', description: 'The roll-out of one version of a job.' },
)
export type Deployment = Shape<typeof Deployment>

/** Reference §8.3. */
export const DeploymentUpdateResponse = Type.Object(
  {
    EvalID: Type.String(),
    EvalCreateIndex: Index(),
    DeploymentModifyIndex: Index(),
    RevertedJobVersion: Nullable(Type.Integer()),
    Index: Index(),
  },
  { $id: 'DeploymentUpdateResponse' },
)
export type DeploymentUpdateResponse = Shape<typeof DeploymentUpdateResponse>

export const DeploymentPauseRequest = Type.Object(
  { DeploymentID: Type.String(), Pause: Type.Boolean({ description: 'False resumes it.' }) },
  { $id: 'DeploymentPauseRequest' },
)
export type DeploymentPauseRequest = Input<Shape<typeof DeploymentPauseRequest>>

export const DeploymentPromoteRequest = Type.Object(
  {
    DeploymentID: Type.String(),
    All: Type.Boolean({ description: 'Promote the canaries of every group.' }),
    Groups: Type.Array(Type.String()),
  },
  { $id: 'DeploymentPromoteRequest' },
)
export type DeploymentPromoteRequest = Input<Shape<typeof DeploymentPromoteRequest>>

export const DeploymentHealthRequest = Type.Object(
  {
    DeploymentID: Type.String(),
    HealthyAllocationIDs: Type.Array(Type.String()),
    UnhealthyAllocationIDs: Type.Array(Type.String()),
  },
  { $id: 'DeploymentHealthRequest' },
)
export type DeploymentHealthRequest = Input<Shape<typeof DeploymentHealthRequest>>

export const DeploymentUnblockRequest = Type.Object(
  { DeploymentID: Type.String() },
  { $id: 'DeploymentUnblockRequest' },
)
export type DeploymentUnblockRequest = Input<Shape<typeof DeploymentUnblockRequest>>

const DeploymentPath = Type.Object({ deployment_id: Type.String() })
const section = 'Deployments'
/** Not spread over: numbers that are keys become texts in the type of a spread object. */
function updateAnswers(why: string) {
  return {
    200: ok(DeploymentUpdateResponse, 'The deployment was changed.'),
    400: refused(why),
    403: denied,
    404: refused('`deployment not found`'),
  } as const
}
const ENDED = 'The body names another deployment, or the deployment has ended.'

export const deploymentRoutes = {
  listDeployments: route({
    id: 'listDeployments',
    methods: ['GET'],
    path: '/v1/deployments',
    cost: 2,
    summary: 'List deployments.',
    section,
    query: ListQuery,
    answers: { 200: ok(Type.Array(Deployment), 'The deployments, oldest first.'), 403: denied },
    blocking: true,
    needs: 'namespace:read-job',
  }),
  readDeployment: route({
    id: 'readDeployment',
    methods: ['GET'],
    path: '/v1/deployment/:deployment_id',
    summary: 'Read one deployment.',
    section,
    params: DeploymentPath,
    query: BlockingQuery,
    answers: {
      200: ok(Deployment, 'The deployment.'),
      400: refused('The id is not a UUID.'),
      404: refused('`deployment not found`'),
    },
    blocking: true,
    needs: 'namespace:read-job',
  }),
  listDeploymentAllocations: route({
    id: 'listDeploymentAllocations',
    methods: ['GET'],
    path: '/v1/deployment/allocations/:deployment_id',
    summary: 'List the allocations of a deployment.',
    section,
    params: DeploymentPath,
    query: BlockingQuery,
    answers: {
      200: ok(Type.Array(AllocationStub), 'The allocations.'),
      400: refused('The id is not a UUID.'),
      404: refused('`deployment not found`'),
    },
    blocking: true,
    needs: 'namespace:read-job',
  }),
  failDeployment: route({
    id: 'failDeployment',
    methods: WRITE,
    path: '/v1/deployment/fail/:deployment_id',
    growsState: false,
    summary: 'Mark a deployment as failed.',
    section,
    params: DeploymentPath,
    query: WriteQuery,
    answers: updateAnswers(ENDED),
    needs: 'namespace:submit-job or namespace:fail-deployment',
  }),
  pauseDeployment: route({
    id: 'pauseDeployment',
    methods: WRITE,
    path: '/v1/deployment/pause/:deployment_id',
    growsState: false,
    summary: 'Pause a deployment, or let it go on.',
    section,
    params: DeploymentPath,
    query: WriteQuery,
    body: DeploymentPauseRequest,
    answers: updateAnswers(ENDED),
    needs: 'namespace:submit-job or namespace:pause-deployment',
  }),
  promoteDeployment: route({
    id: 'promoteDeployment',
    methods: WRITE,
    path: '/v1/deployment/promote/:deployment_id',
    growsState: false,
    summary: 'Promote the canaries of a deployment.',
    section,
    params: DeploymentPath,
    query: WriteQuery,
    body: DeploymentPromoteRequest,
    answers: updateAnswers('The deployment has ended, or a group has too few healthy canaries.'),
    needs: 'namespace:submit-job or namespace:promote-deployment',
  }),
  setDeploymentHealth: route({
    id: 'setDeploymentHealth',
    methods: WRITE,
    path: '/v1/deployment/allocation-health/:deployment_id',
    growsState: false,
    summary: 'Set the health of allocations of a deployment.',
    section,
    params: DeploymentPath,
    query: WriteQuery,
    body: DeploymentHealthRequest,
    answers: updateAnswers('The deployment has ended, or an allocation is unknown to it.'),
    needs: 'namespace:submit-job or namespace:set-alloc-health-deployment',
  }),
  unblockDeployment: route({
    id: 'unblockDeployment',
    methods: WRITE,
    path: '/v1/deployment/unblock/:deployment_id',
    growsState: false,
    summary: 'Let a deployment of a multi-region job go on.',
    section,
    params: DeploymentPath,
    query: WriteQuery,
    body: DeploymentUnblockRequest,
    answers: updateAnswers(ENDED),
    needs: 'namespace:submit-job or namespace:unblock-deployment',
  }),
} as const
