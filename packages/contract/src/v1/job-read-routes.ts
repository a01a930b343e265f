import * as t from './shared-schemas.ts'
import { list, read, blockingRead, routes } from './define.ts'
import { AllocationStub } from './allocation.ts'
import { Deployment } from './deployment.ts'
import { JobDiff } from './diff.ts'
import { Evaluation } from './evaluation.ts'
import { explainQuery, Explanation } from './explain.ts'
import { Job, JobStub, JobSubmission } from './job.ts'
import { JobScaleStatus } from './scale.ts'
import { ServiceRegistration } from './service-registration.ts'
import { JobSummary } from './summary.ts'
import { responseMeta } from './write-response.ts'

export const JobVersionsResponse = t.Named('JobVersionsResponse', {
  Versions: t.Array(Job, { description: 'The newest first.' }),
  Diffs: t.Nullable(
    t.Array(JobDiff, { description: 'Entry i leads from version i+1 of the list to i.' }),
  ),
  ...responseMeta,
})
export type JobVersionsResponse = t.Infer<typeof JobVersionsResponse>

export const JobAction = t.Named('JobAction', 'A named command of one task of a job.', {
  Name: t.String(),
  Command: t.String(),
  Args: t.Nullable(t.Array(t.String())),
  TaskName: t.String(),
  TaskGroupName: t.String(),
})
export type JobAction = t.Infer<typeof JobAction>

const needs = 'namespace:read-job'
const ofEveryRegistration = t.LenientFlagParameter(
  'Also those of an earlier registration of a job with the same id.',
)

export const jobReadRoutes = routes('Jobs', {
  listJobs: list('/jobs', {
    summary: 'List jobs.',
    cost: 2,
    query: { meta: t.FlagParameter('Include the `Meta` of each job.') },
    returns: t.jsonResponse(t.Array(JobStub), 'The jobs, by namespace and id.'),
    errors: { 400: 'The filter cannot be read.' },
    needs: 'namespace:list-jobs',
  }),
  readJob: blockingRead('/job/:job_id', {
    summary: 'Read one job.',
    returns: t.jsonResponse(Job, 'The job.'),
    needs,
  }),
  readJobSubmission: blockingRead('/job/:job_id/submission', {
    summary: 'Read the source of one version of a job.',
    query: { version: t.Integer({ description: 'The version of the job.', minimum: 0 }) },
    returns: t.jsonResponse(JobSubmission, 'The source as it was submitted.'),
    errors: {
      400: '`Unable to parse job submission version parameter`',
      404: '`job source not found`',
    },
    needs,
  }),
  listJobVersions: blockingRead('/job/:job_id/versions', {
    summary: 'List the versions of a job.',
    query: {
      diffs: t.FlagParameter('Say what each version changed.'),
      diff_version: t.Optional(
        t.Integer({ description: 'Compare every version with this one.', minimum: 0 }),
      ),
      diff_tag: t.TextParameter('Compare every version with the one that has this tag.'),
    },
    returns: t.jsonResponse(JobVersionsResponse, 'The versions.'),
    errors: { 404: '`job versions not found`, or the version to compare with is unknown.' },
    needs,
  }),
  listJobAllocations: blockingRead('/job/:job_id/allocations', {
    summary: 'List the allocations of a job.',
    query: { all: ofEveryRegistration },
    returns: t.jsonResponse(t.Array(AllocationStub), 'The allocations; none for an unknown job.'),
    acceptsUnknown: true,
    needs,
  }),
  listJobEvaluations: blockingRead('/job/:job_id/evaluations', {
    summary: 'List the evaluations of a job.',
    returns: t.jsonResponse(t.Array(Evaluation), 'The evaluations; none for an unknown job.'),
    acceptsUnknown: true,
    needs,
  }),
  listJobDeployments: blockingRead('/job/:job_id/deployments', {
    summary: 'List the deployments of a job.',
    query: { all: ofEveryRegistration },
    returns: t.jsonResponse(t.Array(Deployment), 'The deployments; none for an unknown job.'),
    acceptsUnknown: true,
    needs,
  }),
  readLatestDeployment: blockingRead('/job/:job_id/deployment', {
    summary: 'Read the most recent deployment of a job.',
    returns: t.jsonResponse(t.Nullable(Deployment), 'The deployment, or null.'),
    acceptsUnknown: true,
    needs,
  }),
  readJobSummary: blockingRead('/job/:job_id/summary', {
    summary: 'Read the counts over the allocations of a job.',
    returns: t.jsonResponse(JobSummary, 'The counts.'),
    needs,
  }),
  readJobScale: blockingRead('/job/:job_id/scale', {
    summary: 'Read how far each group of a job is from its count.',
    returns: t.jsonResponse(JobScaleStatus, 'The scale status.'),
    needs: 'namespace:read-job-scaling or namespace:read-job',
  }),
  listJobServices: blockingRead('/job/:job_id/services', {
    summary: 'List the services that the allocations of a job registered.',
    returns: t.jsonResponse(t.Array(ServiceRegistration), 'The services.'),
    needs,
  }),
  listJobActions: read('/job/:job_id/actions', {
    summary: 'List the named commands of a job.',
    returns: t.jsonResponse(t.Array(JobAction), 'The actions.'),
    needs,
  }),
  explainJob: read('/job/:job_id/explain', {
    summary: 'Explain why allocations of a job are unplaced, and what would place them.',
    cost: 2,
    query: explainQuery,
    returns: t.jsonResponse(Explanation, 'The explanation, worked out against the current state.'),
    needs,
  }),
})
