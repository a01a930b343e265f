import { GLOBAL_REGION, type Input, type Job, type JobRegisterRequest } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { nsFromMs } from '../../kit/duration.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import {
  canonicalizeJob,
  isParent,
  jobSpecChanged,
  jobUpdateRefusal,
  jobWarnings,
  LIMITS,
  PERMISSION_DENIED,
  refusal,
  newEvaluation,
  SYSTEM_SCALING,
  validateJob,
  type Refusal,
} from '../../model/index.ts'
import { namespacedKey, put, withJobRows, type Stamp } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { checkRegistrationEnabled } from '../scheduler-configuration.ts'
import { namespaceProblem } from './namespace-rules.ts'
import { storedSource, takeSource } from './submissions.ts'
import { nextVersionNumber, versionRows } from './versions.ts'

export interface RegisterRequest {
  /** Undefined when the request has none. */
  readonly body: JobRegisterRequest | undefined
  /** Id in the path of Update job; undefined for Create job. */
  readonly pathJobId: string | undefined
  /** The query's namespace and region; empty when not given. */
  readonly queryNamespace: string
  readonly queryRegion: string
}

/** What a job write did. */
export interface JobWritten {
  readonly evalId: string
  readonly evalCreateIndex: number
  readonly jobModifyIndex: number
  readonly index: number
  readonly warnings: readonly string[]
}

/**
 * Spec W: Create job and Update job. Permission first, then the shape of the request, then the job.
 */
export async function registerJob(
  context: WorkloadContext,
  caller: Caller,
  request: RegisterRequest,
): Promise<Result<JobWritten, Refusal>> {
  const { body = {} } = request
  const namespace = namespaceOf(request)
  if (!mayRegister(caller, namespace, body)) return err(PERMISSION_DENIED)
  const disabled = checkRegistrationEnabled(context.store, caller)
  if (disabled !== undefined) return err(disabled)
  const submitted = checkRequest(request)
  if (!submitted.ok) return submitted
  if (!isOwnRegion(context, request)) return err(refusal('region-unknown', 'No path to region'))
  const job = acceptJob(context, submitted.value, namespace)
  if (!job.ok) return job
  const current = context.store.tables.jobs.find(namespacedKey(namespace, job.value.ID))
  const conflict = checkIndex(body, current) ?? checkUpdate(job.value, current)
  if (conflict !== undefined) return err(conflict)
  const next = { ...job.value, ServiceTokenID: caller.accessorId }
  const wanted = body.PreserveCounts === true ? preserveCounts(next, current) : next
  const source = takeSource(body.Submission)
  const written = await commitJob(context, {
    job: wanted,
    current,
    priority: body.EvalPriority ?? 0,
    source: source.bytes,
  })
  return ok({ ...written, warnings: [...written.warnings, ...source.warnings] })
}

function checkRequest({ body, pathJobId }: RegisterRequest): Result<Input<Job>, Refusal> {
  if (body === undefined) return invalid('Request body is empty')
  const job = body.Job
  if (job === undefined || job === null) return invalid('Job must be specified')
  if (job.ID === undefined || job.ID === null || job.ID === '')
    return invalid("Job ID hasn't been provided")
  if (pathJobId !== undefined && pathJobId !== job.ID) return invalid('Job ID does not match name')
  // A longer one fits no path, so that nobody could read or stop the job.
  if (job.ID.length > LIMITS.pathParamCharsMax)
    return invalid(`Job ID is longer than ${LIMITS.pathParamCharsMax} characters`)
  if (job.Type === 'system' && job.TaskGroups?.some((group) => Boolean(group.Scaling)))
    return invalid(SYSTEM_SCALING)
  const priority = body.EvalPriority ?? 0
  if (priority !== 0 && (priority < 1 || priority > 100))
    return invalid('Eval priority must be between 1 and 100 inclusively')
  return ok(job)
}

/** Reference §1.6: query, then request body, then job, then `default`. */
function namespaceOf({ body, queryNamespace }: RegisterRequest): string {
  return queryNamespace || body?.Namespace || body?.Job?.Namespace || 'default'
}

/** Reference §1.6: the same order; the query's region is checked with every request. */
function isOwnRegion({ region }: WorkloadContext, { body, queryRegion }: RegisterRequest): boolean {
  const named = queryRegion || body?.Region || body?.Job?.Region || region
  return named === region || named === GLOBAL_REGION
}

function mayRegister(caller: Caller, namespace: string, body: JobRegisterRequest): boolean {
  const { grants } = caller
  const submits = grants.allows(namespace, 'submit-job') || grants.allows(namespace, 'register-job')
  return submits && (body.PolicyOverride !== true || grants.allows(namespace, 'policy-override'))
}

/** The job in its canonical form, or every reason why it is none. */
export function acceptJob(
  context: WorkloadContext,
  submitted: Input<Job>,
  namespace: string,
): Result<Job, Refusal> {
  const { region, store } = context
  const pool = store.tables.namespaces.find(namespace)?.NodePoolConfiguration?.Default
  const defaults = { region, namespace, nodePool: pool || 'default' }
  // Which region it is has been decided, and its place among versions is not the caller's to say.
  const own = { Namespace: namespace, Region: '', Stop: false, VersionTag: null }
  const job = canonicalizeJob({ ...submitted, ...own }, defaults)
  const problems = validateJob(job)
  if (problems.list.length > 0) return invalid(problems.text)
  const unwanted = namespaceProblem(store, job)
  return unwanted === undefined ? ok(job) : invalid(unwanted)
}

/** Reference §2.3: what a new version may not change. */
function checkUpdate(job: Job, current: Job | undefined): Refusal | undefined {
  if (job.Payload !== null)
    return refusal('invalid-input', "job can't be submitted with a payload, only dispatched")
  const text = jobUpdateRefusal(current, job)
  return text === undefined ? undefined : refusal('invalid-input', text)
}

/** Spec W: Create job, `EnforceIndex`. */
function checkIndex(body: JobRegisterRequest, current: Job | undefined): Refusal | undefined {
  if (body.EnforceIndex !== true) return undefined
  const given = body.JobModifyIndex ?? 0
  const conflict = (what: string): Refusal =>
    refusal('index-conflict', `Enforcing job modify index ${given}: ${what}`)
  if (given === 0) return current === undefined ? undefined : conflict('job already exists')
  if (current === undefined) return conflict('job does not exist')
  if (current.JobModifyIndex === given) return undefined
  return conflict(`job exists with conflicting job modify index: ${current.JobModifyIndex}`)
}

/** Spec W: Create job, `PreserveCounts`. New groups keep the count they were submitted with. */
function preserveCounts(job: Job, current: Job | undefined): Job {
  const counts = new Map(current?.TaskGroups.map((group) => [group.Name, group.Count]))
  return {
    ...job,
    TaskGroups: job.TaskGroups.map((group) => ({
      ...group,
      Count: counts.get(group.Name) ?? group.Count,
    })),
  }
}

export interface JobCommit {
  readonly job: Job
  readonly current: Job | undefined
  readonly priority: number
  /** The source of a new version: bytes to store, or the key of a blob that is stored already. */
  readonly source: Uint8Array | string | undefined
}

/**
 * One commit: the job, its version and its evaluation. An unchanged job gets an evaluation only.
 */
export async function commitJob(context: WorkloadContext, request: JobCommit): Promise<JobWritten> {
  const { job, current, source } = request
  const changed = current === undefined || current.Stop || jobSpecChanged(current, job)
  const evalId = needsEvaluation(job) ? context.ids.uuid() : ''
  const version = nextVersionNumber(context, job)
  const { sourceBlob, blobs } = storedSource(source, {
    namespace: job.Namespace,
    jobId: job.ID,
    version,
  })
  const { index, durable } = context.store.commit({
    cause: changed ? 'JobRegistered' : 'EvaluationUpdated',
    blobs: changed ? blobs : [],
    changes: (stamp) => {
      const next = changed ? nextVersion(request, version, stamp) : current
      const rows = changed ? versionRows(context, next, sourceBlob) : []
      const evaluation = newEvaluation(next, {
        id: evalId,
        trigger: 'job-register',
        timeMs: stamp.timeMs,
        jobModifyIndex: next.JobModifyIndex,
        priority: request.priority,
      })
      return withJobRows(
        context.store.tables,
        evalId === '' ? rows : [...rows, put('evaluations', evaluation)],
      )
    },
  })
  await durable
  return {
    evalId,
    evalCreateIndex: evalId === '' ? 0 : index,
    jobModifyIndex: changed ? index : current.JobModifyIndex,
    // Without an evaluation an unchanged job is written nowhere.
    index: changed || evalId !== '' ? index : current.ModifyIndex,
    warnings: jobWarnings(job),
  }
}

/** Reference §2.3: periodic and parameterized jobs wait for their launch or dispatch. */
function needsEvaluation(job: Job): boolean {
  return !isParent(job)
}

function nextVersion({ job, current }: JobCommit, version: number, stamp: Stamp): Job {
  const { index, timeMs } = stamp
  return {
    ...job,
    Version: version,
    Status: needsEvaluation(job) ? 'pending' : 'running',
    StatusDescription: '',
    Stable: false,
    Stop: false,
    SubmitTime: nsFromMs(timeMs),
    JobModifyIndex: index,
    CreateIndex: current?.CreateIndex ?? index,
    ModifyIndex: index,
  }
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
