import type {
  Input,
  Job,
  JobParseRequest,
  JobRevertRequest,
  JobValidateRequest,
  JobValidateResponse,
} from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { formatMultiError, formatWarnings } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Caller } from '../../acl/index.ts'
import {
  invalidInput,
  type JobProblem,
  type JobProblems,
  jobSizeProblem,
  jobUpdateProblem,
  jobWarnings,
  PARSE_DEFAULTS,
  PERMISSION_DENIED,
  type Refusal,
  refusal,
  validateJobSteps,
} from '../../model/index.ts'
import { namespacedKey, SYSTEM } from '../../state/index.ts'
import type { TaskOrigin } from '../../threads/index.ts'
import { inSlices, type RequestCaller, type WorkloadContext, type WorkOrigin } from '../context.ts'
import {
  checkOverridePermission,
  enforceAndWrite,
  type PreparedWrite,
} from '../policy-enforcement/enforce.ts'
import { NO_VERDICT_CHANGES } from '../policy-enforcement/verdicts.ts'
import {
  regionalPlanRequest,
  splitByRegion,
  registerInAllRegions,
  type RegionalJobs,
} from './multiregion.ts'
import {
  checkBodyJobId,
  checkEnforcedIndex,
  checkSubmittedJob,
  checkUpdate,
  mayUseVolumes,
  registrationWarnings,
  type ValidatedJob,
  validateSubmitted,
  versionMessageProblem,
} from './checks.ts'
import { planJob } from './plan.ts'
import {
  mayRegister,
  namespaceOf,
  registerLocally,
  type JobWriteResult,
  type RegisterRequest,
  canonicalizeAndValidate,
  commitJob,
  specKey,
} from './job-commit.ts'
import { findSubmission, findVersion, type JobVersionRef, versionNotFound } from './versions.ts'

/** Registers a job; a multi-region job in all of its regions. */
export async function registerJob(
  context: WorkloadContext,
  caller: RequestCaller,
  request: RegisterRequest,
): Promise<Result<JobWriteResult, Refusal>> {
  const job = request.body?.Job
  if (job === undefined || job === null || request.isRegionalJob === true)
    return await registerLocally(context, caller, request)
  const regionalJobs = splitByRegion(context, job)
  if (!regionalJobs.ok) return regionalJobs
  if (regionalJobs.value === undefined) return await registerLocally(context, caller, request)
  return await registerInRegions(context, caller, { request, regionalJobs: regionalJobs.value })
}

interface RegionalRegistration {
  readonly request: RegisterRequest
  readonly regionalJobs: RegionalJobs
}

async function registerInRegions(
  context: WorkloadContext,
  caller: RequestCaller,
  { request, regionalJobs }: RegionalRegistration,
): Promise<Result<JobWriteResult, Refusal>> {
  const { body = {}, secret = '' } = request
  const { regions, clock, store } = context
  const namespace = namespaceOf(request)
  // Check permission first: an index conflict reveals that the job exists.
  if (!mayRegister(caller, namespace, body)) return err(PERMISSION_DENIED)
  const regionalRequest = (job: Input<Job>): RegisterRequest => ({
    ...request,
    body: { ...body, Job: job },
    isRegionalJob: true,
  })
  const onlyJob = [...regionalJobs.jobs.values()][0]
  // The list contains only this region.
  if (regions === undefined || regionalJobs.jobs.size === 1)
    return await registerLocally(context, caller, regionalRequest(onlyJob ?? {}))
  const conflict = checkEnforcedIndex(
    body,
    store.tables.jobs.find(namespacedKey(namespace, body.Job?.ID ?? '')),
  )
  if (conflict !== undefined) return err(conflict)
  return await registerInAllRegions(regionalJobs, {
    regions,
    secret,
    namespace,
    body,
    nowMs: clock.nowMs(),
    planLocally: (job) =>
      planJob(context, caller, {
        ...request,
        pathJobId: job.ID ?? '',
        isRegionalJob: true,
        body: regionalPlanRequest(job, body),
      }),
    registerHere: (job) => registerLocally(context, caller, regionalRequest(job)),
  })
}

/**
 * Registers a job that the server itself needs, without checking permissions or policies. An
 * existing job with this ID is kept.
 */
export async function registerSystemJob(
  context: WorkloadContext,
  submitted: Input<Job> & { readonly ID: string; readonly Namespace: string },
): Promise<void> {
  const { ID, Namespace } = submitted
  if (context.store.tables.jobs.has(namespacedKey(Namespace, ID))) return
  const job = canonicalizeAndValidate(context, submitted, Namespace)
  if (!job.ok) throw new Fault('job-refused', job.error.message)
  await commitJob(context, SYSTEM, {
    job: job.value,
    current: undefined,
    priority: 0,
    source: undefined,
    record: NO_VERDICT_CHANGES,
  })
}

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
  if (body === undefined) return invalidInput('Request body is empty')
  const text = body.JobHCL ?? ''
  if (text.trim() === '') return invalidInput('Job spec is empty')
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
    : invalidInput(`Failed to parse job: ${outcome.value.message}`)
}

/** Returns the namespace; a wildcard is not the namespace of a job. */
function jobNamespace(namespace: string): string {
  return namespace === '*' ? PARSE_DEFAULTS.namespace : namespace
}

interface RevertRequest {
  readonly namespace: string
  readonly jobId: string
  readonly body: JobRevertRequest
}

/**
 * Registers an earlier version again as a new version that is not stable, with its source. Nothing
 * is awaited between the last checks and the commit, so that only one of several callers who
 * enforce the same prior version succeeds.
 */
export async function revertJob(
  context: WorkloadContext,
  caller: RequestCaller,
  { namespace, jobId, body }: RevertRequest,
): Promise<Result<JobWriteResult, Refusal>> {
  const idProblem = checkBodyJobId(body, jobId)
  if (idProblem !== undefined) return err(idProblem)
  const message = versionMessageProblem(body)
  if (message !== undefined) return invalidInput(message)
  const denied = checkOverridePermission(caller, namespace, body)
  if (denied !== undefined) return err(denied)
  return await enforceAndWrite(
    context,
    { operation: 'revert', caller, override: body },
    {
      prepare: () => prepareRevert(context, caller, { namespace, jobId, body }),
      write: async ({ job, existing, name }, { warnings, record }) => {
        const source = findSubmission(context.store, name)?.BlobKey
        const commit = {
          job,
          current: existing,
          priority: 0,
          source,
          record,
          message: body.Message || `revert to version ${name.version}`,
        }
        const result = await commitJob(context, caller, commit)
        return { ...result, warnings: [...result.warnings, ...warnings] }
      },
    },
  )
}

interface PreparedRevert extends PreparedWrite {
  readonly name: JobVersionRef
}

function prepareRevert(
  context: WorkloadContext,
  caller: Caller,
  { namespace, jobId, body }: RevertRequest,
): Result<PreparedRevert, Refusal> {
  const current = context.store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (current === undefined) return err(refusal('job-not-found', `job "${jobId}" not found`))
  const name: JobVersionRef = { namespace, jobId, version: body.JobVersion ?? 0 }
  if (name.version === current.Version) return invalidInput("can't revert to current version")
  const target = findVersion(context, name)
  if (target === undefined) return err(versionNotFound(name))
  if (!mayUseVolumes(caller.grants, namespace, target)) return err(PERMISSION_DENIED)
  const expectedVersion = body.EnforcePriorVersion ?? current.Version
  if (expectedVersion !== current.Version)
    return err(
      refusal(
        'index-conflict',
        `Current job has version ${current.Version}; enforcing version ${expectedVersion}`,
      ),
    )
  // The rules may be stricter now than when the version was registered.
  const job = canonicalizeAndValidate(context, target, namespace)
  if (!job.ok) return job
  const change = jobUpdateProblem(current, job.value)
  if (change !== undefined) return invalidInput(change)
  return ok({
    job: { ...job.value, ServiceTokenID: caller.accessorId },
    existing: current,
    jobId,
    key: `${specKey(current)}/${specKey(target)}`,
    name,
  })
}
