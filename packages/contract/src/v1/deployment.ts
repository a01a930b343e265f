import * as t from './shared-schemas.ts'
import { operate, list, blockingRead, routes } from './define.ts'
import { AllocationStub } from './allocation.ts'
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

export const DeploymentGroupState = t.Named('DeploymentGroupState', {
  AutoRevert: t.Boolean(),
  AutoPromote: t.Boolean(),
  ProgressDeadline: t.Nanoseconds(),
  RequireProgressBy: t.Timestamp(),
  Promoted: t.Boolean(),
  PlacedCanaries: t.Nullable(t.Array(t.String(), { description: 'Allocation ids.' })),
  DesiredCanaries: t.Integer(),
  DesiredTotal: t.Integer(),
  PlacedAllocs: t.Integer(),
  HealthyAllocs: t.Integer(),
  UnhealthyAllocs: t.Integer(),
})
export type DeploymentGroupState = t.Infer<typeof DeploymentGroupState>

export const Deployment = t.Named('Deployment', 'The roll-out of one version of a job.', {
  ID: t.Uuid(),
  Namespace: t.String(),
  JobID: t.String(),
  JobVersion: t.Integer(),
  JobModifyIndex: t.Index(),
  JobSpecModifyIndex: t.Index(),
  JobCreateIndex: t.Index(),
  IsMultiregion: t.Boolean(),
  TaskGroups: t.MapOf(DeploymentGroupState),
  Status: t.Enum(DEPLOYMENT_STATUSES),
  StatusDescription: t.String(),
  EvalPriority: t.Integer(),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
  CreateTime: t.Nanoseconds(),
  ModifyTime: t.Nanoseconds(),
  ...versionOrigin,
})
export type Deployment = t.Infer<typeof Deployment>

export const DeploymentUpdateResponse = t.Named('DeploymentUpdateResponse', {
  EvalID: t.String(),
  EvalCreateIndex: t.Index(),
  DeploymentModifyIndex: t.Index(),
  RevertedJobVersion: t.Nullable(t.Integer()),
  Index: t.Index(),
})
export type DeploymentUpdateResponse = t.Infer<typeof DeploymentUpdateResponse>

export const DeploymentPauseRequest = t.Named('DeploymentPauseRequest', {
  DeploymentID: t.String(),
  Pause: t.Boolean({ description: 'False resumes it.' }),
})
export type DeploymentPauseRequest = t.Input<t.Infer<typeof DeploymentPauseRequest>>

export const DeploymentPromoteRequest = t.Named('DeploymentPromoteRequest', {
  DeploymentID: t.String(),
  All: t.Boolean({ description: 'Promote the canaries of every group.' }),
  Groups: t.Array(t.String()),
})
export type DeploymentPromoteRequest = t.Input<t.Infer<typeof DeploymentPromoteRequest>>

export const DeploymentHealthRequest = t.Named('DeploymentHealthRequest', {
  DeploymentID: t.String(),
  HealthyAllocationIDs: t.Array(t.String()),
  UnhealthyAllocationIDs: t.Array(t.String()),
})
export type DeploymentHealthRequest = t.Input<t.Infer<typeof DeploymentHealthRequest>>

export const DeploymentUnblockRequest = t.Named('DeploymentUnblockRequest', {
  DeploymentID: t.String(),
})
export type DeploymentUnblockRequest = t.Input<t.Infer<typeof DeploymentUnblockRequest>>

const changed = t.jsonResponse(DeploymentUpdateResponse, 'The deployment was changed.')
const ENDED = 'The body names another deployment, or the deployment has ended.'

export const deploymentRoutes = routes('Deployments', {
  listDeployments: list('/deployments', {
    summary: 'List deployments.',
    cost: 2,
    returns: t.jsonResponse(t.Array(Deployment), 'The deployments, oldest first.'),
    needs: 'namespace:read-job',
  }),
  readDeployment: blockingRead('/deployment/:deployment_id', {
    summary: 'Read one deployment.',
    returns: t.jsonResponse(Deployment, 'The deployment.'),
    needs: 'namespace:read-job',
  }),
  listDeploymentAllocations: blockingRead('/deployment/allocations/:deployment_id', {
    summary: 'List the allocations of a deployment.',
    returns: t.jsonResponse(t.Array(AllocationStub), 'The allocations.'),
    needs: 'namespace:read-job',
  }),
  failDeployment: operate('/deployment/fail/:deployment_id', {
    summary: 'Mark a deployment as failed.',
    returns: changed,
    errors: { 400: ENDED },
    needs: 'namespace:submit-job or namespace:fail-deployment',
  }),
  pauseDeployment: operate('/deployment/pause/:deployment_id', {
    summary: 'Pause a deployment, or let it go on.',
    body: DeploymentPauseRequest,
    returns: changed,
    errors: { 400: ENDED },
    needs: 'namespace:submit-job or namespace:pause-deployment',
  }),
  promoteDeployment: operate('/deployment/promote/:deployment_id', {
    summary: 'Promote the canaries of a deployment.',
    body: DeploymentPromoteRequest,
    returns: changed,
    errors: { 400: 'The deployment has ended, or a group has too few healthy canaries.' },
    needs: 'namespace:submit-job or namespace:promote-deployment',
  }),
  setDeploymentHealth: operate('/deployment/allocation-health/:deployment_id', {
    summary: 'Set the health of allocations of a deployment.',
    body: DeploymentHealthRequest,
    returns: changed,
    errors: { 400: 'The deployment has ended, or an allocation is unknown to it.' },
    needs: 'namespace:submit-job or namespace:set-alloc-health-deployment',
  }),
  unblockDeployment: operate('/deployment/unblock/:deployment_id', {
    summary: 'Let a deployment of a multi-region job go on.',
    body: DeploymentUnblockRequest,
    returns: changed,
    errors: { 400: ENDED },
    needs: 'namespace:submit-job or namespace:unblock-deployment',
  }),
})
