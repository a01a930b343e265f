import type { JobValidateRequest, JobValidateResponse } from '@reeve/contract'
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
} from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { inSlices, type WorkOrigin } from '../work-origin.ts'
import { examineSubmitted, type ExaminedJob } from './examine.ts'
import { checkUpdate, namespaceOf, submittedProblem } from './register.ts'
import { warningsNow } from './warnings.ts'

export interface ValidateRequest {
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
  context: Pick<WorkloadContext, 'region' | 'store' | 'clock' | 'offsetAt'>,
  caller: Caller,
  request: ValidateRequest,
): Promise<Result<JobValidateResponse, Refusal>> {
  const namespace = namespaceOf(request)
  if (!caller.grants.allows(namespace, 'read-job')) return err(PERMISSION_DENIED)
  const { body } = request
  if (body === undefined) return invalid('Request body is empty')
  if (body.Job === undefined || body.Job === null) return invalid('Job must be specified')
  const size = jobSizeProblem(body.Job)
  if (size !== undefined)
    return ok(answer({ text: formatMultiError([size]), list: [{ path: '', message: size }] }, []))
  const examined = await examineSubmitted(context, body.Job, namespace, request.origin)
  const { job } = examined
  const problems = await findProblems(context, request, examined)
  // Warnings about launch times need a valid job.
  const warnings = problems.list.length === 0 ? warningsNow(context, job) : jobWarnings(job)
  return ok(answer(problems, warnings))
}

function answer({ text, list }: JobProblems, warnings: readonly string[]): JobValidateResponse {
  return {
    // True as with peers: a server has validated the job. Driver configuration is validated on the
    // node.
    DriverConfigValidated: true,
    ValidationErrors: list.length === 0 ? null : list.map(problemText),
    Error: text,
    Warnings: formatWarnings(warnings),
  }
}

async function findProblems(
  { store }: Pick<WorkloadContext, 'store'>,
  { body, origin }: ValidateRequest,
  { job, problems, unwanted }: ExaminedJob,
): Promise<JobProblems> {
  const current = store.tables.jobs.find(namespacedKey(job.Namespace, job.ID))
  const told = new Set(problems.list.map(({ message }) => message))
  const refusals = [unwanted, checkUpdate(job, current)].map((one) => one?.message)
  const others = [submittedProblem(body?.Job ?? {}), ...refusals]
    .filter((message) => message !== undefined && !told.has(message))
    .map((message = '') => ({ path: '', message }))
  if (others.length === 0) return problems
  return await inSlices(validateJobSteps(job, { others }), origin)
}

/** Formats `TaskGroups[0].Tasks[1].Driver: Missing task driver`. */
function problemText({ path, message }: JobProblem): string {
  return path === '' ? message : `${path}: ${message}`
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
