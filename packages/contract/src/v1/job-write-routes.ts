import { Type } from 'typebox'
import { route } from '../route.ts'
import { denied, done, ok, refused, WRITE } from './answer.ts'
import { JobPath, unknownJob } from './job-path.ts'
import {
  JobDispatchRequest,
  JobEvaluateRequest,
  JobParseRequest,
  JobPlanRequest,
  JobRegisterRequest,
  JobRevertRequest,
  JobScaleRequest,
  JobStabilityRequest,
  JobTagRequest,
  JobValidateRequest,
  JobValidateResponse,
} from './job-request.ts'
import { JobVersionTag, ParsedJob } from './job.ts'
import { JobPlanResponse } from './plan.ts'
import { common, Flag, Text, Whole, WriteQuery } from './query.ts'
import {
  JobDispatchResponse,
  JobScaleResponse,
  JobStabilityResponse,
  JobStopResponse,
  JobWriteResponse,
  PeriodicForceResponse,
} from './write-response.ts'

const section = 'Jobs'
const refusedByPolicy = refused(
  'The token lacks a capability, registration is disabled, or a policy denies the job: the text ' +
    'lists each policy with its level, rule and position.',
)
const registerAnswers = {
  200: ok(JobWriteResponse, 'The job is registered.'),
  400: refused('The job is missing, invalid, or may not change in this way.'),
  403: refusedByPolicy,
  409: refused('`EnforceIndex` is set and the job has another index.'),
}
const overrideNeeds = 'namespace:policy-override if PolicyOverride is set'
/** Whoever submits a job may mount what its groups ask for. */
const volumeNeeds =
  'host_volume:mount-readonly or host_volume:mount-readwrite for its host volumes, ' +
  'namespace:csi-mount-volume for others, namespace:csi-register-plugin for storage plugins'
const submitNeeds = `${overrideNeeds}; ${volumeNeeds}`
const registerNeeds = `namespace:submit-job or namespace:register-job; ${submitNeeds}`
const dispatchAnswers = {
  200: ok(JobDispatchResponse, 'An instance was made.'),
  400: refused('The job cannot be dispatched, or payload or metadata do not match its rules.'),
  403: refusedByPolicy,
  404: refused('`parameterized job not found`'),
  409: refused('The parent changed again and again while policies were asked.'),
}
const DispatchQuery = Type.Object({
  ...common,
  idempotency_token: Text('A second dispatch with the same token makes no second instance.'),
})
const JobTagPath = Type.Object({ ...JobPath.properties, tag_name: Type.String() })

export const jobWriteRoutes = {
  registerJob: route({
    id: 'registerJob',
    methods: WRITE,
    path: '/v1/jobs',
    summary: 'Register a job, or a new version of it.',
    section,
    query: WriteQuery,
    body: JobRegisterRequest,
    answers: registerAnswers,
    needs: registerNeeds,
  }),
  parseJob: route({
    id: 'parseJob',
    methods: WRITE,
    path: '/v1/jobs/parse',
    summary: 'Turn the text of a job file into a job.',
    section,
    query: WriteQuery,
    body: JobParseRequest,
    answers: {
      200: ok(ParsedJob, 'The job; fields that the text does not set are null.'),
      400: refused('The text is empty or cannot be read; each fault is named with its position.'),
      403: denied,
    },
    needs: 'namespace:parse-job and namespace:submit-job',
  }),
  updateJob: route({
    id: 'updateJob',
    methods: WRITE,
    path: '/v1/job/:job_id',
    summary: 'Register a new version of a job.',
    section,
    params: JobPath,
    query: WriteQuery,
    body: JobRegisterRequest,
    answers: registerAnswers,
    needs: registerNeeds,
  }),
  stopJob: route({
    id: 'stopJob',
    methods: ['DELETE'],
    path: '/v1/job/:job_id',
    summary: 'Stop a job and all its allocations.',
    section,
    params: JobPath,
    query: Type.Object({
      ...common,
      eval_priority: Whole('Priority of the evaluation, 1 to 100; 0 uses the priority of the job.'),
      global: Flag('Stop a multi-region job in all its regions.'),
      purge: Flag('Remove the job at once instead of leaving it to garbage collection.'),
      no_shutdown_delay: Flag('Skip the shutdown delays of groups and tasks.'),
    }),
    answers: {
      200: ok(JobStopResponse, 'The job is stopped; an unknown one has an empty `EvalID`.'),
      400: refused('`Eval priority must be between 1 and 100 inclusively`'),
      403: denied,
    },
    needs: 'namespace:submit-job, namespace:deregister-job or namespace:purge-job',
  }),
  dispatchJob: route({
    id: 'dispatchJob',
    methods: WRITE,
    path: '/v1/job/:job_id/dispatch',
    summary: 'Make an instance of a parameterized job.',
    section,
    params: JobPath,
    query: DispatchQuery,
    body: JobDispatchRequest,
    answers: dispatchAnswers,
    needs: `namespace:dispatch-job; ${overrideNeeds}`,
  }),
  dispatchJobPayload: route({
    id: 'dispatchJobPayload',
    methods: WRITE,
    path: '/v1/job/:job_id/dispatch/payload',
    summary: 'Make an instance of a parameterized job; the body is the payload as it is.',
    section,
    params: JobPath,
    query: DispatchQuery,
    body: Type.String({ maxLength: 16_384, description: 'The payload, byte for byte.' }),
    bodyType: 'application/octet-stream',
    answers: dispatchAnswers,
    needs: 'namespace:dispatch-job',
  }),
  revertJob: route({
    id: 'revertJob',
    methods: WRITE,
    path: '/v1/job/:job_id/revert',
    summary: 'Register an earlier version of a job again.',
    section,
    params: JobPath,
    query: WriteQuery,
    body: JobRevertRequest,
    answers: {
      200: ok(JobWriteResponse, 'The earlier version is registered as a new one.'),
      400: refused('The body names another job, or the version is the current one.'),
      403: refusedByPolicy,
      404: refused('The job or the version is unknown.'),
      409: refused('`EnforcePriorVersion` is not the current version.'),
    },
    needs: `namespace:submit-job or namespace:revert-job; ${submitNeeds}`,
  }),
  setJobStability: route({
    id: 'setJobStability',
    methods: WRITE,
    path: '/v1/job/:job_id/stable',
    summary: 'Mark a version of a job as stable, or as not stable.',
    section,
    params: JobPath,
    query: WriteQuery,
    body: JobStabilityRequest,
    answers: {
      200: ok(JobStabilityResponse, 'The version is marked.'),
      400: refused('`JobID must be specified` or `Job ID does not match`'),
      403: denied,
      404: refused('The job or the version is unknown.'),
    },
    needs: 'namespace:submit-job or namespace:stable-job',
  }),
  evaluateJob: route({
    id: 'evaluateJob',
    methods: WRITE,
    path: '/v1/job/:job_id/evaluate',
    summary: 'Run the scheduling logic for a job again.',
    section,
    params: JobPath,
    query: WriteQuery,
    body: JobEvaluateRequest,
    answers: {
      200: ok(JobWriteResponse, 'An evaluation was made.'),
      400: refused('The body names another job, or the job is periodic or parameterized.'),
      403: denied,
      404: unknownJob,
    },
    needs: 'namespace:submit-job or namespace:evaluate-job',
  }),
  releaseJob: route({
    id: 'releaseJob',
    methods: WRITE,
    path: '/v1/job/:job_id/release',
    summary: 'Release a job from quarantine, and evaluate it.',
    section,
    params: JobPath,
    query: WriteQuery,
    answers: {
      200: ok(JobWriteResponse, 'The job may be placed again; an evaluation was made.'),
      400: refused('The job is not quarantined, and its placements are not delayed.'),
      403: denied,
      404: unknownJob,
    },
    needs: 'namespace:submit-job',
  }),
  planJob: route({
    id: 'planJob',
    methods: WRITE,
    path: '/v1/job/:job_id/plan',
    summary: 'Say what registering a job would do, without doing it.',
    section,
    params: JobPath,
    query: WriteQuery,
    body: JobPlanRequest,
    answers: {
      200: ok(JobPlanResponse, 'What would happen; `PolicyVerdicts` says what would deny it.'),
      400: refused('The job is missing or invalid.'),
      403: denied,
      404: refused('`No path to region`'),
    },
    needs: `namespace:submit-job or namespace:plan-job; ${submitNeeds}`,
  }),
  forcePeriodicJob: route({
    id: 'forcePeriodicJob',
    methods: WRITE,
    path: '/v1/job/:job_id/periodic/force',
    summary: 'Launch an instance of a periodic job now, even beside a running one.',
    section,
    params: JobPath,
    query: WriteQuery,
    answers: {
      200: ok(PeriodicForceResponse, 'An instance was launched.'),
      400: refused('The job is not periodic, is stopped or is disabled.'),
      403: denied,
      404: unknownJob,
    },
    needs: 'namespace:dispatch-job, namespace:submit-job or namespace:force-periodic-job',
  }),
  scaleJob: route({
    id: 'scaleJob',
    methods: WRITE,
    path: '/v1/job/:job_id/scale',
    summary: 'Change the count of a group, or record why it cannot be changed.',
    section,
    params: JobPath,
    query: WriteQuery,
    body: JobScaleRequest,
    answers: {
      200: ok(JobScaleResponse, 'The count is changed, or the event recorded.'),
      400: refused('The request is incomplete, out of bounds, or a deployment is active.'),
      403: refusedByPolicy,
      404: refused('The job is unknown.'),
      409: refused('`JobModifyIndex` is not the current one.'),
    },
    needs: `namespace:scale-job or namespace:submit-job; ${overrideNeeds}`,
  }),
  tagJobVersion: route({
    id: 'tagJobVersion',
    methods: WRITE,
    path: '/v1/job/:job_id/versions/:tag_name/tag',
    summary: 'Give a version of a job a name; named versions are kept.',
    section,
    params: JobTagPath,
    query: WriteQuery,
    body: JobTagRequest,
    answers: {
      200: ok(JobVersionTag, 'The version has the tag.'),
      400: refused('Another version has the tag.'),
      403: denied,
      404: refused('The job or the version is unknown.'),
    },
    needs: 'namespace:submit-job or namespace:tag-job-version',
  }),
  untagJobVersion: route({
    id: 'untagJobVersion',
    methods: ['DELETE'],
    path: '/v1/job/:job_id/versions/:tag_name/tag',
    summary: 'Take the name from a version of a job.',
    section,
    params: JobTagPath,
    query: WriteQuery,
    answers: {
      200: done('No version has the tag any more.'),
      403: denied,
      404: refused('The job is unknown, or no version of it has the tag.'),
    },
    needs: 'namespace:submit-job or namespace:tag-job-version',
  }),
  validateJob: route({
    id: 'validateJob',
    methods: WRITE,
    path: '/v1/validate/job',
    summary: 'Check a job without registering it.',
    section,
    query: WriteQuery,
    body: JobValidateRequest,
    answers: {
      200: ok(JobValidateResponse, 'What is wrong with the job, if anything.'),
      400: refused('`Job must be specified`'),
      403: denied,
    },
    needs: 'namespace:read-job',
  }),
} as const
