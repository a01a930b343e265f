import type { JobParseRequest, JobValidateRequest, JobValidateResponse } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { formatMultiError, formatWarnings } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  jobSizeProblem,
  jobWarnings,
  PERMISSION_DENIED,
  refusal,
  validateJobSteps,
  type JobProblem,
  type JobProblems,
  type Refusal,
  PARSE_DEFAULTS,
  invalidInput,
} from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { TaskOrigin } from '../../threads/index.ts'
import { inSlices, type WorkloadContext, type WorkOrigin } from '../context.ts'
import {
  checkSubmittedJob,
  checkUpdate,
  validateSubmitted,
  type ValidatedJob,
  registrationWarnings,
} from './checks.ts'
import { namespaceOf } from './job-commit.ts'

interface ValidateRequest {
  /** Undefined if the request has none. */
  readonly body: JobValidateRequest | undefined
  /** Namespace and region of the query; empty if not given. */
  readonly queryNamespace: string
  readonly queryRegion: string
  readonly origin: WorkOrigin
}

/**
 * Returns all problems for which registering the job would be refused. An invalid job is a
 * successful response.
 */
export async function validateSubmittedJob(
  context: Pick<WorkloadContext, 'region' | 'store' | 'clock' | 'utcOffsetAt'>,
  caller: Caller,
  request: ValidateRequest,
): Promise<Result<JobValidateResponse, Refusal>> {
  const namespace = namespaceOf(request)
  if (!caller.grants.allows(namespace, 'read-job')) return err(PERMISSION_DENIED)
  const { body } = request
  if (body === undefined) return invalidInput('Request body is empty')
  if (body.Job === undefined || body.Job === null) return invalidInput('Job must be specified')
  const size = jobSizeProblem(body.Job)
  if (size !== undefined)
    return ok(
      validateResponse({ text: formatMultiError([size]), list: [{ path: '', message: size }] }, []),
    )
  const validated = await validateSubmitted(context, body.Job, namespace, request.origin)
  const { job } = validated
  const problems = await collectProblems(context, request, validated)
  // Warnings about launch times need a valid job.
  const warnings =
    problems.list.length === 0 ? registrationWarnings(context, job) : jobWarnings(job)
  return ok(validateResponse(problems, warnings))
}

function validateResponse(
  { text, list }: JobProblems,
  warnings: readonly string[],
): JobValidateResponse {
  return {
    // True as with peers: a server has validated the job. Driver configuration is validated on the
    // node.
    DriverConfigValidated: true,
    ValidationErrors: list.length === 0 ? null : list.map(formatProblem),
    Error: text,
    Warnings: formatWarnings(warnings),
  }
}

async function collectProblems(
  { store }: Pick<WorkloadContext, 'store'>,
  { body, origin }: ValidateRequest,
  { job, problems, namespaceError }: ValidatedJob,
): Promise<JobProblems> {
  const current = store.tables.jobs.find(namespacedKey(job.Namespace, job.ID))
  const reportedMessages = new Set(problems.list.map(({ message }) => message))
  const refusals = [namespaceError, checkUpdate(job, current)].map((one) => one?.message)
  const additional = [checkSubmittedJob(body?.Job ?? {}), ...refusals]
    .filter((message) => message !== undefined && !reportedMessages.has(message))
    .map((message = '') => ({ path: '', message }))
  if (additional.length === 0) return problems
  return await inSlices(validateJobSteps(job, { additionalProblems: additional }), origin)
}

/** Formats `TaskGroups[0].Tasks[1].Driver: Missing task driver`. */
function formatProblem({ path, message }: JobProblem): string {
  return path === '' ? message : `${path}: ${message}`
}

interface ParseRequest {
  /** Undefined if the request has none. */
  readonly body: JobParseRequest | undefined
  readonly namespace: string
  /** The origin of the task, for fair scheduling on the parser thread. */
  readonly origin: TaskOrigin
}

/**
 * Parses a job file to JSON, or returns all problems of its text, one per line. Warnings have no
 * field in the response and are dropped.
 */
export async function parseJob(
  { jobFiles, clock }: Pick<WorkloadContext, 'jobFiles' | 'clock'>,
  { body, namespace, origin }: ParseRequest,
): Promise<Result<string, Refusal>> {
  if (body === undefined) return invalidJobFile('Request body is empty')
  const text = body.JobHCL ?? ''
  if (text.trim() === '') return invalidJobFile('Job spec is empty')
  const isCanonical = body.Canonicalize ?? false
  const task = {
    text,
    variables: body.Variables ?? '',
    isLegacy: body.HCLv1 ?? false,
    defaults: isCanonical ? { ...PARSE_DEFAULTS, namespace: jobNamespace(namespace) } : undefined,
    nowMs: clock.nowMs(),
  }
  const outcome = await jobFiles.read(task, origin)
  if (!outcome.ok) return outcome
  return outcome.value.kind === 'job'
    ? ok(outcome.value.json)
    : invalidJobFile(`Failed to parse job: ${outcome.value.message}`)
}

/** Returns the namespace; a wildcard is not the namespace of a job. */
function jobNamespace(namespace: string): string {
  return namespace === '*' ? PARSE_DEFAULTS.namespace : namespace
}

function invalidJobFile(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
