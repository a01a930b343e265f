import * as t from './shared-schemas.ts'
import { operate, remove, write, routes } from './define.ts'
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
import {
  JobDispatchResponse,
  JobScaleResponse,
  JobStabilityResponse,
  JobStopResponse,
  JobWriteResponse,
  PeriodicForceResponse,
} from './write-response.ts'

const refusedByPolicy = t.textError(
  'The token lacks a capability, registration is disabled, or a policy denies the job: the text ' +
    'lists each policy with its level, rule and position.',
)
const registerAnswers = {
  200: t.jsonResponse(JobWriteResponse, 'The job is registered.'),
  400: t.textError('The job is missing, invalid, or may not change in this way.'),
  403: refusedByPolicy,
  409: t.textError('`EnforceIndex` is set and the job has another index.'),
}
const overrideNeeds = 'namespace:policy-override if PolicyOverride is set'
/** Permission to mount the volumes that a group requests. */
const volumeNeeds =
  'host_volume:mount-readonly or host_volume:mount-readwrite for its host volumes, ' +
  'namespace:csi-mount-volume for others, namespace:csi-register-plugin for storage plugins'
const submitNeeds = `${overrideNeeds}; ${volumeNeeds}`
const registerNeeds = `namespace:submit-job or namespace:register-job; ${submitNeeds}`
const dispatchAnswers = {
  200: t.jsonResponse(JobDispatchResponse, 'An instance was made.'),
  400: t.textError('The job cannot be dispatched, or payload or metadata do not match its rules.'),
  403: refusedByPolicy,
  404: t.textError('`parameterized job not found`'),
  409: t.textError('The parent changed again and again while policies were asked.'),
}
const dispatchQuery = {
  idempotency_token: t.TextParameter(
    'A second dispatch with the same token makes no second instance.',
  ),
}

export const jobWriteRoutes = routes('Jobs', {
  registerJob: write('/jobs', {
    summary: 'Register a job, or a new version of it.',
    region: 'body',
    cost: 4,
    body: JobRegisterRequest,
    answers: registerAnswers,
    needs: registerNeeds,
  }),
  parseJob: write('/jobs/parse', {
    summary: 'Turn the text of a job file into a job.',
    answeredBy: 'any',
    audit: 'none',
    cost: 4,
    body: JobParseRequest,
    returns: t.jsonResponse(ParsedJob, 'The job; fields that the text does not set are null.'),
    errors: { 400: 'The text is empty or cannot be read; each fault is named with its position.' },
    needs: 'namespace:parse-job and namespace:submit-job',
  }),
  updateJob: write('/job/:job_id', {
    summary: 'Register a new version of a job.',
    region: 'body',
    cost: 4,
    body: JobRegisterRequest,
    answers: registerAnswers,
    acceptsUnknown: true,
    needs: registerNeeds,
  }),
  stopJob: remove('/job/:job_id', {
    summary: 'Stop a job and all its allocations.',
    query: {
      eval_priority: t.IntegerParameter(
        'Priority of the evaluation, 1 to 100; 0 uses the priority of the job.',
      ),
      global: t.FlagParameter('Stop a multi-region job in all its regions.'),
      purge: t.FlagParameter('Remove the job at once instead of leaving it to garbage collection.'),
      no_shutdown_delay: t.FlagParameter('Skip the shutdown delays of groups and tasks.'),
    },
    returns: t.jsonResponse(
      JobStopResponse,
      'The job is stopped; an unknown one has an empty `EvalID`.',
    ),
    errors: { 400: '`Eval priority must be between 1 and 100 inclusively`' },
    acceptsUnknown: true,
    needs: 'namespace:submit-job, namespace:deregister-job or namespace:purge-job',
  }),
  dispatchJob: write('/job/:job_id/dispatch', {
    summary: 'Make an instance of a parameterized job.',
    cost: 4,
    query: dispatchQuery,
    body: JobDispatchRequest,
    answers: dispatchAnswers,
    needs: `namespace:dispatch-job; ${overrideNeeds}`,
  }),
  dispatchJobPayload: write('/job/:job_id/dispatch/payload', {
    summary: 'Make an instance of a parameterized job; the body is the payload as it is.',
    cost: 4,
    bodyType: 'application/octet-stream',
    query: dispatchQuery,
    body: t.String({ maxLength: 16_384, description: 'The payload, byte for byte.' }),
    answers: dispatchAnswers,
    needs: 'namespace:dispatch-job',
  }),
  revertJob: write('/job/:job_id/revert', {
    summary: 'Register an earlier version of a job again.',
    cost: 4,
    body: JobRevertRequest,
    returns: t.jsonResponse(JobWriteResponse, 'The earlier version is registered as a new one.'),
    answers: { 403: refusedByPolicy },
    errors: {
      400: 'The body names another job, or the version is the current one.',
      404: 'The job or the version is unknown.',
      409: '`EnforcePriorVersion` is not the current version.',
    },
    needs: `namespace:submit-job or namespace:revert-job; ${submitNeeds}`,
  }),
  setJobStability: operate('/job/:job_id/stable', {
    summary: 'Mark a version of a job as stable, or as not stable.',
    body: JobStabilityRequest,
    returns: t.jsonResponse(JobStabilityResponse, 'The version is marked.'),
    errors: {
      400: '`JobID must be specified` or `Job ID does not match`',
      404: 'The job or the version is unknown.',
    },
    needs: 'namespace:submit-job or namespace:stable-job',
  }),
  evaluateJob: write('/job/:job_id/evaluate', {
    summary: 'Run the scheduling logic for a job again.',
    body: JobEvaluateRequest,
    returns: t.jsonResponse(JobWriteResponse, 'An evaluation was made.'),
    errors: { 400: 'The body names another job, or the job is periodic or parameterized.' },
    needs: 'namespace:submit-job or namespace:evaluate-job',
  }),
  releaseJob: operate('/job/:job_id/release', {
    summary: 'Release a job from quarantine, and evaluate it.',
    returns: t.jsonResponse(
      JobWriteResponse,
      'The job may be placed again; an evaluation was made.',
    ),
    errors: { 400: 'The job is not quarantined, and its placements are not delayed.' },
    needs: 'namespace:submit-job',
  }),
  planJob: operate('/job/:job_id/plan', {
    summary: 'Say what registering a job would do, without doing it.',
    region: 'body',
    cost: 8,
    body: JobPlanRequest,
    returns: t.jsonResponse(
      JobPlanResponse,
      'The expected changes; `PolicyVerdicts` lists policies that would deny them.',
    ),
    errors: { 400: 'The job is missing or invalid.', 404: '`No path to region`' },
    needs: `namespace:submit-job or namespace:plan-job; ${submitNeeds}`,
  }),
  forcePeriodicJob: write('/job/:job_id/periodic/force', {
    summary: 'Launch an instance of a periodic job now, even beside a running one.',
    returns: t.jsonResponse(PeriodicForceResponse, 'An instance was launched.'),
    errors: { 400: 'The job is not periodic, is stopped or is disabled.' },
    needs: 'namespace:dispatch-job, namespace:submit-job or namespace:force-periodic-job',
  }),
  scaleJob: operate('/job/:job_id/scale', {
    summary: 'Change the count of a group, or record why it cannot be changed.',
    cost: 4,
    body: JobScaleRequest,
    returns: t.jsonResponse(JobScaleResponse, 'The count is changed, or the event recorded.'),
    answers: { 403: refusedByPolicy },
    errors: {
      400: 'The request is incomplete, out of bounds, or a deployment is active.',
      404: 'The job is unknown.',
      409: '`JobModifyIndex` is not the current one.',
    },
    needs: `namespace:scale-job or namespace:submit-job; ${overrideNeeds}`,
  }),
  tagJobVersion: write('/job/:job_id/versions/:tag_name/tag', {
    summary: 'Give a version of a job a name; named versions are kept.',
    body: JobTagRequest,
    returns: t.jsonResponse(JobVersionTag, 'The version has the tag.'),
    errors: { 400: 'Another version has the tag.', 404: 'The job or the version is unknown.' },
    needs: 'namespace:submit-job or namespace:tag-job-version',
  }),
  untagJobVersion: remove('/job/:job_id/versions/:tag_name/tag', {
    summary: 'Take the name from a version of a job.',
    returns: t.emptyResponse('No version has the tag any more.'),
    needs: 'namespace:submit-job or namespace:tag-job-version',
  }),
  validateJob: write('/validate/job', {
    summary: 'Check a job without registering it.',
    answeredBy: 'any',
    audit: 'none',
    cost: 4,
    body: JobValidateRequest,
    returns: t.jsonResponse(JobValidateResponse, 'The problems of the job, if any.'),
    errors: { 400: '`Job must be specified`' },
    needs: 'namespace:read-job',
  }),
})
