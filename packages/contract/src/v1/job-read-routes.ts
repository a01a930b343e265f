import { Type } from 'typebox'
import { route } from '../route.ts'
import { Nullable, type Shape } from '../shape.ts'
import { AllocationStub } from './allocation.ts'
import { denied, ok, refused } from './answer.ts'
import { Deployment } from './deployment.ts'
import { JobDiff } from './diff.ts'
import { Evaluation } from './evaluation.ts'
import { ExplainQuery, Explanation } from './explain.ts'
import { JobPath, unknownJob } from './job-path.ts'
import { Job, JobStub } from './job.ts'
import {
  blocking,
  BlockingQuery,
  common,
  Flag,
  LenientFlag,
  listing,
  ReadQuery,
  Text,
} from './query.ts'
import { JobScaleStatus } from './scale.ts'
import { ServiceRegistration } from './service-registration.ts'
import { JobSubmission } from './submission.ts'
import { JobSummary } from './summary.ts'
import { responseMeta } from './write-response.ts'

/** Spec W: List job versions. */
export const JobVersionsResponse = Type.Object(
  {
    Versions: Type.Array(Job, { description: 'The newest first.' }),
    Diffs: Nullable(
      Type.Array(JobDiff, { description: 'Entry i leads from version i+1 of the list to i.' }),
    ),
    ...responseMeta,
  },
  { $id: 'JobVersionsResponse' },
)
export type JobVersionsResponse = Shape<typeof JobVersionsResponse>

/** Reference §7.3. */
export const JobAction = Type.Object(
  {
    Name: Type.String(),
    Command: Type.String(),
    Args: Nullable(Type.Array(Type.String())),
    TaskName: Type.String(),
    TaskGroupName: Type.String(),
  },
  { $id: 'JobAction', description: 'A named command of one task of a job.' },
)
export type JobAction = Shape<typeof JobAction>

const section = 'Jobs'
const needs = 'namespace:read-job'
const ofEveryRegistration = LenientFlag(
  'Also those of an earlier registration of a job with the same id.',
)

export const jobReadRoutes = {
  listJobs: route({
    id: 'listJobs',
    methods: ['GET'],
    path: '/v1/jobs',
    cost: 2,
    summary: 'List jobs.',
    section,
    query: Type.Object({
      ...common,
      ...blocking,
      ...listing,
      meta: Flag('Include the `Meta` of each job.'),
    }),
    answers: {
      200: ok(Type.Array(JobStub), 'The jobs, by namespace and id.'),
      400: refused('The filter cannot be read.'),
      403: denied,
    },
    blocking: true,
    needs: 'namespace:list-jobs',
  }),
  readJob: route({
    id: 'readJob',
    methods: ['GET'],
    path: '/v1/job/:job_id',
    summary: 'Read one job.',
    section,
    params: JobPath,
    query: BlockingQuery,
    answers: { 200: ok(Job, 'The job.'), 403: denied, 404: unknownJob },
    blocking: true,
    needs,
  }),
  readJobSubmission: route({
    id: 'readJobSubmission',
    methods: ['GET'],
    path: '/v1/job/:job_id/submission',
    summary: 'Read the source of one version of a job.',
    section,
    params: JobPath,
    query: Type.Object({
      ...common,
      ...blocking,
      version: Type.Integer({ description: 'The version of the job.', minimum: 0 }),
    }),
    answers: {
      200: ok(JobSubmission, 'The source as it was submitted.'),
      400: refused('`Unable to parse job submission version parameter`'),
      403: denied,
      404: refused('`job source not found`'),
    },
    blocking: true,
    needs,
  }),
  listJobVersions: route({
    id: 'listJobVersions',
    methods: ['GET'],
    path: '/v1/job/:job_id/versions',
    summary: 'List the versions of a job.',
    section,
    params: JobPath,
    query: Type.Object({
      ...common,
      ...blocking,
      diffs: Flag('Say what each version changed.'),
      diff_version: Type.Optional(
        Type.Integer({ description: 'Compare every version with this one.', minimum: 0 }),
      ),
      diff_tag: Text('Compare every version with the one that has this tag.'),
    }),
    answers: {
      200: ok(JobVersionsResponse, 'The versions.'),
      403: denied,
      404: refused('`job versions not found`, or the version to compare with is unknown.'),
    },
    blocking: true,
    needs,
  }),
  listJobAllocations: route({
    id: 'listJobAllocations',
    methods: ['GET'],
    path: '/v1/job/:job_id/allocations',
    summary: 'List the allocations of a job.',
    section,
    params: JobPath,
    query: Type.Object({ ...common, ...blocking, all: ofEveryRegistration }),
    answers: {
      200: ok(Type.Array(AllocationStub), 'The allocations; none for an unknown job.'),
      403: denied,
    },
    blocking: true,
    needs,
  }),
  listJobEvaluations: route({
    id: 'listJobEvaluations',
    methods: ['GET'],
    path: '/v1/job/:job_id/evaluations',
    summary: 'List the evaluations of a job.',
    section,
    params: JobPath,
    query: BlockingQuery,
    answers: {
      200: ok(Type.Array(Evaluation), 'The evaluations; none for an unknown job.'),
      403: denied,
    },
    blocking: true,
    needs,
  }),
  listJobDeployments: route({
    id: 'listJobDeployments',
    methods: ['GET'],
    path: '/v1/job/:job_id/deployments',
    summary: 'List the deployments of a job.',
    section,
    params: JobPath,
    query: Type.Object({ ...common, ...blocking, all: ofEveryRegistration }),
    answers: {
      200: ok(Type.Array(Deployment), 'The deployments; none for an unknown job.'),
      403: denied,
    },
    blocking: true,
    needs,
  }),
  readLatestDeployment: route({
    id: 'readLatestDeployment',
    methods: ['GET'],
    path: '/v1/job/:job_id/deployment',
    summary: 'Read the most recent deployment of a job.',
    section,
    params: JobPath,
    query: BlockingQuery,
    answers: { 200: ok(Nullable(Deployment), 'The deployment, or null.'), 403: denied },
    blocking: true,
    needs,
  }),
  readJobSummary: route({
    id: 'readJobSummary',
    methods: ['GET'],
    path: '/v1/job/:job_id/summary',
    summary: 'Read the counts over the allocations of a job.',
    section,
    params: JobPath,
    query: BlockingQuery,
    answers: { 200: ok(JobSummary, 'The counts.'), 403: denied, 404: unknownJob },
    blocking: true,
    needs,
  }),
  readJobScale: route({
    id: 'readJobScale',
    methods: ['GET'],
    path: '/v1/job/:job_id/scale',
    summary: 'Read how far each group of a job is from its count.',
    section,
    params: JobPath,
    query: BlockingQuery,
    answers: { 200: ok(JobScaleStatus, 'The scale status.'), 403: denied, 404: unknownJob },
    blocking: true,
    needs: 'namespace:read-job-scaling or namespace:read-job',
  }),
  listJobServices: route({
    id: 'listJobServices',
    methods: ['GET'],
    path: '/v1/job/:job_id/services',
    summary: 'List the services that the allocations of a job registered.',
    section,
    params: JobPath,
    query: BlockingQuery,
    answers: {
      200: ok(Type.Array(ServiceRegistration), 'The services.'),
      403: denied,
      404: unknownJob,
    },
    blocking: true,
    needs,
  }),
  listJobActions: route({
    id: 'listJobActions',
    methods: ['GET'],
    path: '/v1/job/:job_id/actions',
    summary: 'List the named commands of a job.',
    section,
    params: JobPath,
    query: ReadQuery,
    answers: {
      200: ok(Type.Array(JobAction), 'The actions.'),
      403: denied,
      404: unknownJob,
    },
    needs,
  }),
  explainJob: route({
    id: 'explainJob',
    methods: ['GET'],
    path: '/v1/job/:job_id/explain',
    cost: 2,
    summary: 'Say why instances of a job are not placed, and what would place them.',
    section,
    params: JobPath,
    query: ExplainQuery,
    answers: {
      200: ok(Explanation, 'The explanation, worked out against the current state.'),
      403: denied,
      404: unknownJob,
    },
    needs,
  }),
} as const
