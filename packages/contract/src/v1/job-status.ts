import { Type } from 'typebox'
import { routes } from '../route.ts'
import { blockingRead, blockingReadByBody } from './define.ts'
import { Named, Index, Nanoseconds, Nullable, type Input, type Infer } from '../schema.ts'
import { CLIENT_STATUSES } from './allocation.ts'
import { jsonResponse } from './shared-schemas.ts'
import { DEPLOYMENT_STATUSES } from './deployment.ts'
import { ALLOCATION_HEALTHS, JOB_HEALTHS } from './health.ts'
import { JOB_STATUSES } from './job.ts'
import { FlagParameter, pagingQuery, prefixQuery } from './query.ts'
import { JobChildrenSummary, TaskGroupSummary } from './summary.ts'

export const JobStatusAllocation = Named('JobStatusAllocation', {
  ID: Type.String(),
  Group: Type.String(),
  ClientStatus: Type.Enum(CLIENT_STATUSES),
  Health: Type.Enum(ALLOCATION_HEALTHS, {
    description: 'The state of the allocation in one word.',
  }),
  NodeID: Type.String(),
  DeploymentStatus: Type.Object({ Canary: Type.Boolean(), Healthy: Nullable(Type.Boolean()) }),
  JobVersion: Type.Integer(),
  FollowupEvalID: Type.String(),
})
export type JobStatusAllocation = Infer<typeof JobStatusAllocation>

export const JobStatusDeployment = Named('JobStatusDeployment', {
  ID: Type.String(),
  IsActive: Type.Boolean(),
  JobVersion: Type.Integer(),
  Status: Type.Enum(DEPLOYMENT_STATUSES),
  StatusDescription: Type.String(),
  AllAutoPromote: Type.Boolean(),
  RequiresPromotion: Type.Boolean(),
})
export type JobStatusDeployment = Infer<typeof JobStatusDeployment>

/** One row of a page that lists jobs. */
export const JobStatusRow = Named('JobStatusRow', 'A job with the state of its allocations.', {
  ID: Type.String(),
  Namespace: Type.String(),
  Name: Type.String(),
  Type: Type.String(),
  NodePool: Type.String(),
  Datacenters: Type.Array(Type.String()),
  Priority: Type.Integer(),
  Version: Type.Integer(),
  SubmitTime: Nanoseconds(),
  ModifyIndex: Index(),
  Allocs: Type.Array(JobStatusAllocation),
  GroupCountSum: Type.Integer({ description: 'Sum of the counts of the groups.' }),
  ChildStatuses: Nullable(Type.Array(Type.Enum(JOB_STATUSES))),
  // Only with `counts=true`: the job summary, added up over all groups.
  AllocCounts: Type.Optional(TaskGroupSummary),
  ChildCounts: Type.Optional(Nullable(JobChildrenSummary)),
  ParentID: Type.String(),
  LatestDeployment: Nullable(JobStatusDeployment),
  Stop: Type.Boolean(),
  Status: Type.Enum(JOB_STATUSES),
  Health: Type.Enum(JOB_HEALTHS, { description: 'The state of the job in one word.' }),
})
export type JobStatusRow = Infer<typeof JobStatusRow>

export const JobStatusesRequest = Named('JobStatusesRequest', {
  Jobs: Type.Array(Type.Object({ ID: Type.String(), Namespace: Type.String() })),
  IncludeChildren: Type.Boolean(),
})
export type JobStatusesRequest = Input<Infer<typeof JobStatusesRequest>>

const jobStatusesQuery = {
  ...pagingQuery,
  prefix: prefixQuery,
  include_children: FlagParameter('Also jobs that were dispatched or launched by another.'),
  counts: FlagParameter(
    'Numbers instead of lists: `AllocCounts` and `ChildCounts`, with `Allocs` and `ChildStatuses` empty.',
  ),
}

export const jobStatusRoutes = routes('Jobs', {
  listJobStatuses: blockingRead('/jobs/statuses', {
    summary: 'List jobs with their allocations and latest deployment, newest change first.',
    cost: 2,
    query: jobStatusesQuery,
    returns: jsonResponse(Type.Array(JobStatusRow), 'The jobs.'),
    needs: 'namespace:read-job',
  }),
  listStatusesOfJobs: blockingReadByBody('/jobs/statuses', {
    summary: 'The same for the jobs that the body names; an empty body means all of them.',
    answeredBy: 'any',
    audit: 'none',
    cost: 2,
    query: jobStatusesQuery,
    body: JobStatusesRequest,
    returns: jsonResponse(Type.Array(JobStatusRow), 'The jobs.'),
    needs: 'namespace:read-job',
  }),
})
