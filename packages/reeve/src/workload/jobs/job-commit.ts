import { GLOBAL_REGION, type Input, type Job, type JobRegisterRequest } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  DEPLOYMENT_DESCRIPTIONS,
  endDeployment,
  isParent,
  jobSpecChanged,
  PERMISSION_DENIED,
  refusal,
  newEvaluation,
  newRegionDeployment,
  withOrigin,
  type Refusal,
  type VersionOrigin,
  invalidInput,
} from '../../model/index.ts'
import {
  namespacedKey,
  nextVersionNumber,
  put,
  withDerivedRows,
  type Author,
  type Change,
  type Stamp,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext, WorkOrigin } from '../context.ts'
import { placeInline, type JobRegistration } from '../evaluations/inline-placement.ts'
import {
  checkOverridePermission,
  enforceAndWrite,
  type PreparedWrite,
} from '../policy-enforcement/enforce.ts'
import type { VerdictChanges } from '../policy-enforcement/verdicts.ts'
import { checkRegistrationEnabled } from '../operator.ts'
import {
  checkEnforcedIndex,
  checkSubmittedJob,
  checkUpdate,
  validateCandidate,
  validateSubmitted,
  type ValidatedJob,
  namespaceRefusal,
  locateProblems,
  mayUseVolumes,
  registrationWarnings,
  versionMessageProblem,
} from './checks.ts'
import {
  sourceBlobChange,
  submissionFormatProblem,
  encodeSource,
  originOfRequest,
  versionRows,
} from './versions.ts'

/** A submitted job, for registration or a dry run. */
export interface SubmittedJob {
  /** Undefined if the request has none. */
  readonly body: Pick<JobRegisterRequest, 'Job' | 'Namespace' | 'Region'> | undefined
  /** Namespace and region of the query; empty if not given. */
  readonly queryNamespace: string
  readonly queryRegion: string
  readonly origin: WorkOrigin
}

export interface RegisterRequest extends SubmittedJob {
  readonly body: JobRegisterRequest | undefined
  /** ID in the path of an update; undefined when creating a job. */
  readonly pathJobId: string | undefined
  /** The secret of the caller, for registering in other regions. */
  readonly secret?: string | undefined
  /** True for one region's part of a job: another region handles the rest. */
  readonly isRegionalJob?: boolean
}

/** Result of a job write. */
export interface JobWriteResult {
  readonly evalId: string
  readonly evalCreateIndex: number
  readonly jobModifyIndex: number
  readonly index: number
  readonly warnings: readonly string[]
}

/** Checks permission first, then the request, then the job. */
export async function registerLocally(
  context: WorkloadContext,
  caller: RequestCaller,
  request: RegisterRequest,
): Promise<Result<JobWriteResult, Refusal>> {
  const { body = {} } = request
  const namespace = namespaceOf(request)
  if (!mayRegister(caller, namespace, body)) return err(PERMISSION_DENIED)
  const disabled = checkRegistrationEnabled(context.store, caller)
  if (disabled !== undefined) return err(disabled)
  const submitted = checkRequest(request)
  if (!submitted.ok) return submitted
  if (!isLocalRegion(context, request)) return err(NO_PATH_TO_REGION)
  const job = await acceptSubmittedJob(context, submitted.value, namespace, request.origin)
  if (!job.ok) return await withSourcePositions(context, job, request)
  const next = { ...job.value, ServiceTokenID: caller.accessorId }
  const source = encodeSource(body.Submission)
  return await enforceAndWrite(
    context,
    { operation: 'register', caller, override: body },
    {
      prepare: () => prepareRegistration(context, next, body),
      write: async ({ job: preparedJob, existing: current }, { warnings, record }) => {
        const priority = body.EvalPriority ?? 0
        const submittedNs = submitTimeOf(context, request)
        const isStopped = body.Stopped === true
        const commitInput = { job: preparedJob, current, priority, source: source.bytes, record }
        const commit = { ...commitInput, submittedNs, isStopped, message: body.Message ?? '' }
        const result = await commitJob(context, caller, commit)
        return { ...result, warnings: [...result.warnings, ...source.warnings, ...warnings] }
      },
    },
  )
}

/** Checks the registration against the state; called again after policies were evaluated. */
function prepareRegistration(
  { store }: WorkloadContext,
  next: Job,
  body: JobRegisterRequest,
): Result<PreparedWrite, Refusal> {
  const { Namespace: namespace, ID: jobId } = next
  // The namespace may have been deleted since the job was validated.
  if (!store.tables.namespaces.has(namespace))
    return err(namespaceRefusal(store, next) ?? NAMESPACE_DELETED)
  const current = store.tables.jobs.find(namespacedKey(namespace, jobId))
  const conflict = checkEnforcedIndex(body, current) ?? checkUpdate(next, current)
  if (conflict !== undefined) return err(conflict)
  return ok({
    job: withPreserved(next, current, body),
    existing: current,
    jobId,
    key: specKey(current),
  })
}

const NAMESPACE_DELETED = refusal('unknown-namespace', 'the namespace is gone')

/** Returns a key that changes with each new specification of the job, and not with its status. */
export function specKey(job: Job | undefined): string {
  return job === undefined ? '' : `${job.CreateIndex}/${job.JobModifyIndex}`
}

function checkRequest({ body, pathJobId }: RegisterRequest): Result<Input<Job>, Refusal> {
  if (body === undefined) return invalidInput('Request body is empty')
  const job = body.Job
  if (job === undefined || job === null) return invalidInput('Job must be specified')
  if (job.ID === undefined || job.ID === null || job.ID === '')
    return invalidInput("Job ID hasn't been provided")
  if (pathJobId !== undefined && pathJobId !== job.ID)
    return invalidInput('Job ID does not match name')
  const problem =
    versionMessageProblem(body) ??
    checkSubmittedJob(job) ??
    submissionFormatProblem(body.Submission)
  if (problem !== undefined) return invalidInput(problem)
  const priority = body.EvalPriority ?? 0
  if (priority !== 0 && (priority < 1 || priority > 100))
    return invalidInput('Eval priority must be between 1 and 100 inclusively')
  return ok(job)
}

/** Returns the namespace: of the query, else the body, the job, or `default`. */
export function namespaceOf({ body, queryNamespace }: SubmittedJob): string {
  return queryNamespace || body?.Namespace || body?.Job?.Namespace || 'default'
}

/**
 * Reports whether the region is this one, in the same order; every request checks the query's
 * region.
 */
export function isLocalRegion(
  { region }: Pick<WorkloadContext, 'region'>,
  { body, queryRegion }: SubmittedJob,
): boolean {
  const requestedRegion = queryRegion || body?.Region || body?.Job?.Region || region
  return requestedRegion === region || requestedRegion === GLOBAL_REGION
}

export const NO_PATH_TO_REGION: Refusal = refusal('region-unknown', 'No path to region')

export function mayRegister(caller: Caller, namespace: string, body: JobRegisterRequest): boolean {
  const { grants } = caller
  const hasCapability =
    grants.allows(namespace, 'submit-job') || grants.allows(namespace, 'register-job')
  if (!hasCapability || checkOverridePermission(caller, namespace, body) !== undefined) return false
  return mayUseVolumes(grants, namespace, body.Job)
}

/** Returns the job in its canonical form, or all of its problems. */
export function canonicalizeAndValidate(
  context: WorkloadContext,
  submitted: Input<Job>,
  namespace: string,
): Result<Job, Refusal> {
  return acceptedOrRefused(validateCandidate(context, submitted, namespace))
}

/** Validates the job of a request: a large job in slices. */
export async function acceptSubmittedJob(
  context: WorkloadContext,
  submitted: Input<Job>,
  namespace: string,
  origin: WorkOrigin,
): Promise<Result<Job, Refusal>> {
  return acceptedOrRefused(await validateSubmitted(context, submitted, namespace, origin))
}

function acceptedOrRefused({ job, problems, namespaceError }: ValidatedJob): Result<Job, Refusal> {
  if (problems.list.length > 0) return err(refusal('job-invalid', problems.text))
  return namespaceError === undefined ? ok(job) : err(namespaceError)
}

/** Adds positions in the job file to the problems, if the request contains the file. */
async function withSourcePositions(
  context: WorkloadContext,
  refused: { readonly ok: false; readonly error: Refusal },
  request: RegisterRequest,
): Promise<Result<never, Refusal>> {
  const { body = {}, origin } = request
  if ((body.Submission?.Source ?? '') === '') return refused
  const namespace = namespaceOf(request)
  const { problems } = await validateSubmitted(context, body.Job ?? {}, namespace, origin)
  const lines = await locateProblems(context, body.Submission, problems.list, origin)
  if (lines.length === 0) return refused
  const text = [refused.error.message, 'In the source:', ...lines].join('\n')
  return err(refusal(refused.error.code, text))
}

/** Returns the job with the current counts or resources; new groups and tasks keep their own. */
function withPreserved(
  job: Job,
  current: Job | undefined,
  { PreserveCounts: keepsCounts, PreserveResources: keepsResources }: JobRegisterRequest,
): Job {
  const groups = new Map(current?.TaskGroups.map((group) => [group.Name, group]))
  if (keepsCounts !== true && keepsResources !== true) return job
  return {
    ...job,
    TaskGroups: job.TaskGroups.map((group) => {
      const existing = groups.get(group.Name)
      if (existing === undefined) return group
      const resources = new Map(existing.Tasks.map(({ Name, Resources }) => [Name, Resources]))
      return {
        ...group,
        Count: keepsCounts === true ? existing.Count : group.Count,
        Tasks:
          keepsResources === true
            ? group.Tasks.map((task) => {
                return { ...task, Resources: resources.get(task.Name) ?? task.Resources }
              })
            : group.Tasks,
      }
    }),
  }
}

interface JobCommitInput {
  readonly job: Job
  readonly current: Job | undefined
  readonly priority: number
  /** Source of a new version: bytes to store, or the key of an existing blob. */
  readonly source: Uint8Array | string | undefined
  /** Record of overridden policies. */
  readonly record: VerdictChanges
  /** Submit time if another region has set it; now unless given. */
  readonly submittedNs?: number | undefined
  /** Register without running. */
  readonly isStopped?: boolean
  /** Message of the submitter. */
  readonly message?: string
}

/**
 * Commits the job, its version and evaluation, and for a small job its placements (decision 0052).
 * An unchanged job gets only an evaluation.
 */
export async function commitJob(
  context: WorkloadContext,
  { by }: Author,
  request: JobCommitInput,
): Promise<JobWriteResult> {
  const { job, current, source, record, isStopped = false } = request
  const unchanged = isStopped ? undefined : findUnchangedJob(job, current)
  const evalId = needsEvaluation(job) ? context.ids.uuid() : ''
  const origin = originOfRequest({ by }, request.message)
  const version = nextVersionNumber(context.store.tables, job)
  const { sourceBlob, blobs } = sourceBlobChange(source, {
    namespace: job.Namespace,
    jobId: job.ID,
    version,
  })
  const { index, durable } = context.store.commit({
    by,
    cause: unchanged === undefined ? 'JobRegistered' : 'EvaluationUpdated',
    // Deployments and other rows of the commit belong to the job.
    auditSubject: { organizationId: null, resourceIds: [job.ID] },
    blobs: [...(unchanged === undefined ? blobs : []), ...record.blobs],
    changes: (stamp) => {
      const from = { ...request, unchanged, origin }
      const planned = planRegistration(context, from, { stamp, evalId, sourceBlob })
      const startsJob = unchanged === undefined && !isStopped
      const regionalDeployments = startsJob
        ? regionalDeploymentRows(context, { ...request, origin }, { ...stamp, version })
        : []
      // A multi-region rollout starts its own deployments, so do not place inline.
      const isInline = unchanged === undefined && regionalDeployments.length === 0
      const inlinePlacement = isInline ? placeInline(context, planned, stamp) : undefined
      const rows = [...planned.rows, ...(inlinePlacement ?? evaluationChanges(planned))]
      return [
        ...withDerivedRows(context.store.tables, rows),
        ...regionalDeployments,
        ...record.changes(stamp),
      ]
    },
  })
  await durable
  return {
    evalId,
    evalCreateIndex: evalId === '' ? 0 : index,
    jobModifyIndex: unchanged?.JobModifyIndex ?? index,
    // Without an evaluation nothing was written for an unchanged job.
    index: unchanged === undefined || evalId !== '' ? index : unchanged.ModifyIndex,
    warnings: registrationWarnings(context, job),
  }
}

/**
 * Returns the registered job if the submitted one is identical and creates no new version; else
 * undefined. A stopped job gets a new version, which starts it.
 */
export function findUnchangedJob(job: Job, current: Job | undefined): Job | undefined {
  return current === undefined || current.Stop || jobSpecChanged(current, job) ? undefined : current
}

interface RegistrationStamp {
  readonly stamp: Stamp
  /** Empty if there is no evaluation. */
  readonly evalId: string
  readonly sourceBlob: string | undefined
}

/** Returns the rows of a registration; a dry run overlays them on the state. */
export function registrationRows(...registering: Parameters<typeof planRegistration>): Change[] {
  const [{ store }] = registering
  const planned = planRegistration(...registering)
  return withDerivedRows(store.tables, [...planned.rows, ...evaluationChanges(planned)])
}

function evaluationChanges({ evaluation }: JobRegistration): readonly Change[] {
  return evaluation === undefined ? [] : [put('evaluations', evaluation)]
}

function planRegistration(
  context: WorkloadContext,
  {
    job,
    current,
    priority,
    unchanged,
    submittedNs,
    isStopped,
    origin,
  }: Omit<JobCommitInput, 'source' | 'record' | 'message'> & {
    readonly unchanged: Job | undefined
    /** Undefined in a dry run. */
    readonly origin?: VersionOrigin
  },
  { stamp, evalId, sourceBlob }: RegistrationStamp,
): JobRegistration {
  const { tables } = context.store
  const version = nextVersionNumber(tables, job)
  const next =
    unchanged ??
    newVersionRow(withOrigin(job, origin), current, { ...stamp, version, submittedNs, isStopped })
  const rows = unchanged === undefined ? versionRows(context, next, sourceBlob) : []
  if (evalId === '') return { job: next, rows, evaluation: undefined }
  const evaluation = newEvaluation(next, {
    id: evalId,
    trigger: 'job-register',
    timeMs: stamp.timeMs,
    jobModifyIndex: next.JobModifyIndex,
    priority,
  })
  return { job: next, rows, evaluation }
}

/**
 * Returns the deployment of a multi-region job whose regions deploy in turn: they watch each
 * other's deployments, so it is created at registration. It cancels the deployment of the previous
 * version, which the scheduler would ignore.
 */
function regionalDeploymentRows(
  { regions, region, ids, store }: WorkloadContext,
  {
    job,
    current,
    priority,
    submittedNs,
    origin,
  }: JobCommitInput & { readonly origin: VersionOrigin },
  stamp: Stamp & { readonly version: number },
): readonly Change[] {
  if (regions === undefined || !needsEvaluation(job)) return []
  const { timeMs } = stamp
  const next = newVersionRow(withOrigin(job, origin), current, { ...stamp, submittedNs })
  const options = { id: ids.uuid(), timeMs, priority: priority || job.Priority }
  const deployment = newRegionDeployment(next, region, options)
  if (deployment === undefined) return []
  const end = {
    status: 'cancelled',
    description: DEPLOYMENT_DESCRIPTIONS.newerVersion,
    timeMs,
  } as const
  const activeDeployments = store.tables.deployments.rowsByIndex(
    'active',
    namespacedKey(job.Namespace, job.ID),
  )
  return [...activeDeployments.map((row) => endDeployment(row, end)), deployment].map((row) =>
    put('deployments', row),
  )
}

/** Maximum clock difference between regions; a later submit time is rejected. */
const CLOCK_SKEW_MS_MAX = 3_600_000

function submitTimeOf(
  { clock }: WorkloadContext,
  { isRegionalJob, body }: RegisterRequest,
): number | undefined {
  const submitTimeNs = body?.Job?.SubmitTime ?? 0
  const isPlausible =
    submitTimeNs > 0 && submitTimeNs <= nsFromMs(clock.nowMs() + CLOCK_SKEW_MS_MAX)
  return isRegionalJob === true && isPlausible ? submitTimeNs : undefined
}

/**
 * Reports whether to evaluate the job. Periodic and parameterized jobs wait for a launch or
 * dispatch.
 */
function needsEvaluation(job: Job): boolean {
  return !isParent(job)
}

function newVersionRow(
  job: Job,
  current: Job | undefined,
  {
    index,
    timeMs,
    version,
    submittedNs,
    isStopped = false,
  }: Stamp & {
    readonly version: number
    readonly submittedNs?: number | undefined
    readonly isStopped?: boolean | undefined
  },
): Job {
  return {
    ...job,
    Version: version,
    Status: needsEvaluation(job) ? 'pending' : isStopped ? 'dead' : 'running',
    StatusDescription: '',
    Stable: false,
    Stop: isStopped,
    SubmitTime: submittedNs ?? nsFromMs(timeMs),
    JobModifyIndex: index,
    CreateIndex: current?.CreateIndex ?? index,
    ModifyIndex: index,
  }
}
