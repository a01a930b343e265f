import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, read, blockingRead } from './define.ts'
import { Named, Nullable, type Infer } from '../schema.ts'
import { AllocationStub } from './allocation.ts'
import { jsonResponse } from './shared-schemas.ts'
import { Deployment } from './deployment.ts'
import { JobDiff } from './diff.ts'
import { Evaluation } from './evaluation.ts'
import { explainQuery, Explanation } from './explain.ts'
import { Job, JobStub, JobSubmission } from './job.ts'
import { FlagParameter, LenientFlagParameter, TextParameter } from './query.ts'
import { JobScaleStatus } from './scale.ts'
import { ServiceRegistration } from './service-registration.ts'
import { JobSummary } from './summary.ts'
import { responseMeta } from './write-response.ts'

export const JobVersionsResponse = Named('JobVersionsResponse', {
  Versions: Type.Array(Job, { description: 'The newest first.' }),
  Diffs: Nullable(
    Type.Array(JobDiff, { description: 'Entry i leads from version i+1 of the list to i.' }),
  ),
  ...responseMeta,
})
export type JobVersionsResponse = Infer<typeof JobVersionsResponse>

export const JobAction = Named('JobAction', 'A named command of one task of a job.', {
  Name: Type.String(),
  Command: Type.String(),
  Args: Nullable(Type.Array(Type.String())),
  TaskName: Type.String(),
  TaskGroupName: Type.String(),
})
export type JobAction = Infer<typeof JobAction>

const needs = 'namespace:read-job'
const ofEveryRegistration = LenientFlagParameter(
  'Also those of an earlier registration of a job with the same id.',
)

export const jobReadRoutes = routes('Jobs', {
  listJobs: list('/jobs', {
    summary: 'List jobs.',
    cost: 2,
    query: { meta: FlagParameter('Include the `Meta` of each job.') },
    returns: jsonResponse(Type.Array(JobStub), 'The jobs, by namespace and id.'),
    errors: { 400: 'The filter cannot be read.' },
    needs: 'namespace:list-jobs',
  }),
  readJob: blockingRead('/job/:job_id', {
    summary: 'Read one job.',
    returns: jsonResponse(Job, 'The job.'),
    errors: { 404: '`job not found`' },
    needs,
  }),
  readJobSubmission: blockingRead('/job/:job_id/submission', {
    summary: 'Read the source of one version of a job.',
    query: { version: Type.Integer({ description: 'The version of the job.', minimum: 0 }) },
    returns: jsonResponse(JobSubmission, 'The source as it was submitted.'),
    errors: {
      400: '`Unable to parse job submission version parameter`',
      404: '`job source not found`',
    },
    needs,
  }),
  listJobVersions: blockingRead('/job/:job_id/versions', {
    summary: 'List the versions of a job.',
    query: {
      diffs: FlagParameter('Say what each version changed.'),
      diff_version: Type.Optional(
        Type.Integer({ description: 'Compare every version with this one.', minimum: 0 }),
      ),
      diff_tag: TextParameter('Compare every version with the one that has this tag.'),
    },
    returns: jsonResponse(JobVersionsResponse, 'The versions.'),
    errors: { 404: '`job versions not found`, or the version to compare with is unknown.' },
    needs,
  }),
  listJobAllocations: blockingRead('/job/:job_id/allocations', {
    summary: 'List the allocations of a job.',
    query: { all: ofEveryRegistration },
    returns: jsonResponse(Type.Array(AllocationStub), 'The allocations; none for an unknown job.'),
    needs,
  }),
  listJobEvaluations: blockingRead('/job/:job_id/evaluations', {
    summary: 'List the evaluations of a job.',
    returns: jsonResponse(Type.Array(Evaluation), 'The evaluations; none for an unknown job.'),
    needs,
  }),
  listJobDeployments: blockingRead('/job/:job_id/deployments', {
    summary: 'List the deployments of a job.',
    query: { all: ofEveryRegistration },
    returns: jsonResponse(Type.Array(Deployment), 'The deployments; none for an unknown job.'),
    needs,
  }),
  readLatestDeployment: blockingRead('/job/:job_id/deployment', {
    summary: 'Read the most recent deployment of a job.',
    returns: jsonResponse(Nullable(Deployment), 'The deployment, or null.'),
    needs,
  }),
  readJobSummary: blockingRead('/job/:job_id/summary', {
    summary: 'Read the counts over the allocations of a job.',
    returns: jsonResponse(JobSummary, 'The counts.'),
    errors: { 404: '`job not found`' },
    needs,
  }),
  readJobScale: blockingRead('/job/:job_id/scale', {
    summary: 'Read how far each group of a job is from its count.',
    returns: jsonResponse(JobScaleStatus, 'The scale status.'),
    errors: { 404: '`job not found`' },
    needs: 'namespace:read-job-scaling or namespace:read-job',
  }),
  listJobServices: blockingRead('/job/:job_id/services', {
    summary: 'List the services that the allocations of a job registered.',
    returns: jsonResponse(Type.Array(ServiceRegistration), 'The services.'),
    errors: { 404: '`job not found`' },
    needs,
  }),
  listJobActions: read('/job/:job_id/actions', {
    summary: 'List the named commands of a job.',
    returns: jsonResponse(Type.Array(JobAction), 'The actions.'),
    errors: { 404: '`job not found`' },
    needs,
  }),
  explainJob: read('/job/:job_id/explain', {
    summary: 'Explain why allocations of a job are unplaced, and what would place them.',
    cost: 2,
    query: explainQuery,
    returns: jsonResponse(Explanation, 'The explanation, worked out against the current state.'),
    errors: { 404: '`job not found`' },
    needs,
  }),
})
