import * as t from './shared-schemas.ts'
import { blockingRead, blockingReadByBody, routes } from './define.ts'
import { CLIENT_STATUSES } from './allocation.ts'
import { DEPLOYMENT_STATUSES } from './deployment.ts'
import { Failure } from './failure.ts'
import { ALLOCATION_HEALTHS, JOB_HEALTHS } from './health.ts'
import { JOB_STATUSES } from './job.ts'
import { JobChildrenSummary, TaskGroupSummary } from './summary.ts'

export const JobStatusAllocation = t.Named('JobStatusAllocation', {
  ID: t.String(),
  Group: t.String(),
  ClientStatus: t.Enum(CLIENT_STATUSES),
  Health: t.Enum(ALLOCATION_HEALTHS, { description: 'The state of the allocation in one word.' }),
  NodeID: t.String(),
  DeploymentStatus: t.Object({ Canary: t.Boolean(), Healthy: t.Nullable(t.Boolean()) }),
  JobVersion: t.Integer(),
  FollowupEvalID: t.String(),
})
export type JobStatusAllocation = t.Infer<typeof JobStatusAllocation>

export const JobStatusDeployment = t.Named('JobStatusDeployment', {
  ID: t.String(),
  IsActive: t.Boolean(),
  JobVersion: t.Integer(),
  Status: t.Enum(DEPLOYMENT_STATUSES),
  StatusDescription: t.String(),
  AllAutoPromote: t.Boolean(),
  RequiresPromotion: t.Boolean(),
})
export type JobStatusDeployment = t.Infer<typeof JobStatusDeployment>

/** One row of a page that lists jobs. */
export const JobStatusRow = t.Named('JobStatusRow', 'A job with the state of its allocations.', {
  ID: t.String(),
  Namespace: t.String(),
  Name: t.String(),
  Type: t.String(),
  NodePool: t.String(),
  Datacenters: t.Array(t.String()),
  Priority: t.Integer(),
  Version: t.Integer(),
  SubmitTime: t.Nanoseconds(),
  ModifyIndex: t.Index(),
  Allocs: t.Array(JobStatusAllocation),
  GroupCountSum: t.Integer({ description: 'Sum of the counts of the groups.' }),
  ChildStatuses: t.Nullable(t.Array(t.Enum(JOB_STATUSES))),
  // Only with `counts=true`: the job summary, added up over all groups.
  AllocCounts: t.Optional(TaskGroupSummary),
  ChildCounts: t.Optional(t.Nullable(JobChildrenSummary)),
  ParentID: t.String(),
  LatestDeployment: t.Nullable(JobStatusDeployment),
  Stop: t.Boolean(),
  Status: t.Enum(JOB_STATUSES),
  Health: t.Enum(JOB_HEALTHS, { description: 'The state of the job in one word.' }),
  Failure: t.Nullable(Failure),
})
export type JobStatusRow = t.Infer<typeof JobStatusRow>

export const JobStatusesRequest = t.Named('JobStatusesRequest', {
  Jobs: t.Array(t.Object({ ID: t.String(), Namespace: t.String() })),
  IncludeChildren: t.Boolean(),
})
export type JobStatusesRequest = t.Input<t.Infer<typeof JobStatusesRequest>>

const jobStatusesQuery = {
  ...t.pagingQuery,
  prefix: t.prefixQuery,
  include_children: t.FlagParameter('Also jobs that were dispatched or launched by another.'),
  counts: t.FlagParameter(
    'Numbers instead of lists: `AllocCounts` and `ChildCounts`, with `Allocs` and `ChildStatuses` empty.',
  ),
}

export const jobStatusRoutes = routes('Jobs', {
  listJobStatuses: blockingRead('/jobs/statuses', {
    summary: 'List jobs with their allocations and latest deployment, newest change first.',
    cost: 2,
    query: jobStatusesQuery,
    returns: t.jsonResponse(t.Array(JobStatusRow), 'The jobs.'),
    needs: 'namespace:read-job',
  }),
  listStatusesOfJobs: blockingReadByBody('/jobs/statuses', {
    summary: 'The same for the jobs that the body names; an empty body means all of them.',
    answeredBy: 'any',
    audit: 'none',
    cost: 2,
    query: jobStatusesQuery,
    body: JobStatusesRequest,
    returns: t.jsonResponse(t.Array(JobStatusRow), 'The jobs.'),
    needs: 'namespace:read-job',
  }),
})
