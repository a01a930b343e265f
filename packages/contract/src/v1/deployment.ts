import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, blockingRead, write } from './define.ts'
import {
  Named,
  Index,
  MapOf,
  Nanoseconds,
  Nullable,
  Timestamp,
  type Input,
  type Infer,
} from '../schema.ts'
import { AllocationStub } from './allocation.ts'
import { permissionDenied, jsonResponse, textError, Uuid } from './shared-schemas.ts'
import { versionOrigin } from './version-origin.ts'

/** `cancelled` has two l here and one in evaluations. */
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

export const DeploymentGroupState = Named('DeploymentGroupState', {
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
})
export type DeploymentGroupState = Infer<typeof DeploymentGroupState>

export const Deployment = Named('Deployment', 'The roll-out of one version of a job.', {
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
  ...versionOrigin,
})
export type Deployment = Infer<typeof Deployment>

export const DeploymentUpdateResponse = Named('DeploymentUpdateResponse', {
  EvalID: Type.String(),
  EvalCreateIndex: Index(),
  DeploymentModifyIndex: Index(),
  RevertedJobVersion: Nullable(Type.Integer()),
  Index: Index(),
})
export type DeploymentUpdateResponse = Infer<typeof DeploymentUpdateResponse>

export const DeploymentPauseRequest = Named('DeploymentPauseRequest', {
  DeploymentID: Type.String(),
  Pause: Type.Boolean({ description: 'False resumes it.' }),
})
export type DeploymentPauseRequest = Input<Infer<typeof DeploymentPauseRequest>>

export const DeploymentPromoteRequest = Named('DeploymentPromoteRequest', {
  DeploymentID: Type.String(),
  All: Type.Boolean({ description: 'Promote the canaries of every group.' }),
  Groups: Type.Array(Type.String()),
})
export type DeploymentPromoteRequest = Input<Infer<typeof DeploymentPromoteRequest>>

export const DeploymentHealthRequest = Named('DeploymentHealthRequest', {
  DeploymentID: Type.String(),
  HealthyAllocationIDs: Type.Array(Type.String()),
  UnhealthyAllocationIDs: Type.Array(Type.String()),
})
export type DeploymentHealthRequest = Input<Infer<typeof DeploymentHealthRequest>>

export const DeploymentUnblockRequest = Named('DeploymentUnblockRequest', {
  DeploymentID: Type.String(),
})
export type DeploymentUnblockRequest = Input<Infer<typeof DeploymentUnblockRequest>>

/** Not spread over: numbers that are keys become texts in the type of a spread object. */
function updateAnswers(why: string) {
  return {
    200: jsonResponse(DeploymentUpdateResponse, 'The deployment was changed.'),
    400: textError(why),
    403: permissionDenied,
    404: textError('`deployment not found`'),
  } as const
}
const ENDED = 'The body names another deployment, or the deployment has ended.'

export const deploymentRoutes = routes('Deployments', {
  listDeployments: list('/deployments', {
    summary: 'List deployments.',
    cost: 2,
    returns: jsonResponse(Type.Array(Deployment), 'The deployments, oldest first.'),
    needs: 'namespace:read-job',
  }),
  readDeployment: blockingRead('/deployment/:deployment_id', {
    summary: 'Read one deployment.',
    returns: jsonResponse(Deployment, 'The deployment.'),
    errors: { 400: 'The id is not a UUID.', 404: '`deployment not found`' },
    needs: 'namespace:read-job',
  }),
  listDeploymentAllocations: blockingRead('/deployment/allocations/:deployment_id', {
    summary: 'List the allocations of a deployment.',
    returns: jsonResponse(Type.Array(AllocationStub), 'The allocations.'),
    errors: { 400: 'The id is not a UUID.', 404: '`deployment not found`' },
    needs: 'namespace:read-job',
  }),
  failDeployment: write('/deployment/fail/:deployment_id', {
    summary: 'Mark a deployment as failed.',
    growsState: false,
    answers: updateAnswers(ENDED),
    needs: 'namespace:submit-job or namespace:fail-deployment',
  }),
  pauseDeployment: write('/deployment/pause/:deployment_id', {
    summary: 'Pause a deployment, or let it go on.',
    growsState: false,
    body: DeploymentPauseRequest,
    answers: updateAnswers(ENDED),
    needs: 'namespace:submit-job or namespace:pause-deployment',
  }),
  promoteDeployment: write('/deployment/promote/:deployment_id', {
    summary: 'Promote the canaries of a deployment.',
    growsState: false,
    body: DeploymentPromoteRequest,
    answers: updateAnswers('The deployment has ended, or a group has too few healthy canaries.'),
    needs: 'namespace:submit-job or namespace:promote-deployment',
  }),
  setDeploymentHealth: write('/deployment/allocation-health/:deployment_id', {
    summary: 'Set the health of allocations of a deployment.',
    growsState: false,
    body: DeploymentHealthRequest,
    answers: updateAnswers('The deployment has ended, or an allocation is unknown to it.'),
    needs: 'namespace:submit-job or namespace:set-alloc-health-deployment',
  }),
  unblockDeployment: write('/deployment/unblock/:deployment_id', {
    summary: 'Let a deployment of a multi-region job go on.',
    growsState: false,
    body: DeploymentUnblockRequest,
    answers: updateAnswers(ENDED),
    needs: 'namespace:submit-job or namespace:unblock-deployment',
  }),
})
