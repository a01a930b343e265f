import { GLOBAL_REGION, type Input, type Job, type JobRegisterRequest } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { nsFromMs } from '../../kit/duration.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import {
  canonicalizeJob,
  jobSpecChanged,
  jobUpdateRefusal,
  jobWarnings,
  LIMITS,
  PERMISSION_DENIED,
  refusal,
  newEvaluation,
  newSummary,
  SYSTEM_SCALING,
  validateJob,
  withGroupsOf,
  type Refusal,
} from '../../model/index.ts'
import {
  jobVersionKey,
  namespacedKey,
  put,
  remove,
  withJobRows,
  type Change,
  type Stamp,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

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
  return ok(await commitJob(context, { job: wanted, current, priority: body.EvalPriority ?? 0 }))
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
function acceptJob(
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
  if (!store.tables.namespaces.has(namespace))
    return invalid(`job "${job.ID}" is in nonexistent namespace "${namespace}"`)
  return ok(job)
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

interface JobCommit {
  readonly job: Job
  readonly current: Job | undefined
  readonly priority: number
}

/**
 * One commit: the job, its version and its evaluation. An unchanged job gets an evaluation only.
 */
async function commitJob(context: WorkloadContext, request: JobCommit): Promise<JobWritten> {
  const { job, current } = request
  const changed = current === undefined || current.Stop || jobSpecChanged(current, job)
  const evalId = needsEvaluation(job) ? context.ids.uuid() : ''
  const { index, durable } = context.store.commit({
    cause: changed ? 'JobRegistered' : 'EvaluationUpdated',
    changes: (stamp) => {
      const next = changed ? nextVersion(context, request, stamp) : current
      const rows = changed ? versionRows(context, next) : []
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
  return job.Periodic === null && job.ParameterizedJob === null
}

function nextVersion(context: WorkloadContext, request: JobCommit, stamp: Stamp): Job {
  const { job, current } = request
  const { index, timeMs } = stamp
  // The first is 0. Versions of a purged job stay while something runs them: those are passed over.
  const key = namespacedKey(job.Namespace, job.ID)
  const last = current ?? context.store.tables.job_versions.rowsIn('job', key).at(-1)
  return {
    ...job,
    Version: last === undefined ? 0 : last.Version + 1,
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

/** The job, its new version and its summary; versions that nobody can ask for any more go. */
export function versionRows(context: WorkloadContext, job: Job): Change[] {
  const key = namespacedKey(job.Namespace, job.ID)
  const summary = context.store.tables.job_summaries.find(key)
  return [
    put('jobs', job),
    put('job_versions', job),
    ...surplusVersions(context, key).map((version) => remove('job_versions', version)),
    put('job_summaries', summary === undefined ? newSummary(job) : withGroupsOf(summary, job)),
  ]
}

/**
 * Spec W: Limits. Beyond the latest six only tagged versions and those of existing allocations
 * stay.
 */
function surplusVersions(context: WorkloadContext, key: string): string[] {
  const { job_versions, allocations } = context.store.tables
  const untagged = job_versions.rowsIn('job', key).filter((row) => row.VersionTag === null)
  return untagged
    .slice(0, Math.max(0, untagged.length + 1 - LIMITS.jobVersionsMax))
    .map((row) => jobVersionKey(row.Namespace, row.ID, row.Version))
    .filter((version) => allocations.countIn('version', version) === 0)
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
