import type {
  Input,
  Job,
  JobFilePlace,
  JobRegisterRequest,
  JobSubmission,
  Namespace,
  TaskGroup,
} from '@reeve/contract'
import { matchGlob } from '@reeve/kit/glob.ts'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import type { Grants } from '../../acl/index.ts'
import {
  canonicalizeJobSteps,
  isLargeJob,
  jobSizeProblem,
  jobUpdateProblem,
  LIMITS,
  SYSTEM_SCALING_PROBLEM,
  validateJobSteps,
  type JobProblems,
  type Refusal,
  refusal,
  type JobProblem,
  isActivePeriodic,
  jobWarnings,
  nextLaunchMs,
} from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import type { TaskOrigin } from '../../threads/index.ts'
import { inSlices, type WorkloadContext, type WorkOrigin } from '../context.ts'
import type { JobFileTask } from '../job-files/job-file-task.ts'

export interface ValidatedJob {
  /** In its canonical form. */
  readonly job: Job
  /** Problems that are independent of the state. */
  readonly problems: JobProblems
  /** Refusal by the job's namespace. */
  readonly namespaceError: Refusal | undefined
}

type ValidationContext = Pick<WorkloadContext, 'region' | 'store'>

/** Validates a job for registration, plan, revert or validation alike. */
export function validateCandidate(
  context: ValidationContext,
  submitted: Input<Job>,
  namespace: string,
): ValidatedJob {
  return runToCompletion(validateSteps(context, submitted, namespace))
}

/** Validates the job of a request: a large job in slices, a small one at once. */
export async function validateSubmitted(
  context: ValidationContext,
  submitted: Input<Job>,
  namespace: string,
  origin: WorkOrigin,
): Promise<ValidatedJob> {
  if (!isLargeJob(submitted)) return validateCandidate(context, submitted, namespace)
  return await inSlices(validateSteps(context, submitted, namespace), origin)
}

function* validateSteps(
  { region, store }: ValidationContext,
  submitted: Input<Job>,
  namespace: string,
): Steps<ValidatedJob> {
  const pool = store.tables.namespaces.find(namespace)?.NodePoolConfiguration?.Default
  const defaults = { region, namespace, nodePool: pool || 'default' }
  // The region has been chosen already, and callers cannot set version fields.
  const fixedFields = { Namespace: namespace, Region: '', Stop: false, VersionTag: null }
  const job = yield* canonicalizeJobSteps({ ...submitted, ...fixedFields }, defaults)
  const problems = yield* validateJobSteps(job)
  // The namespace is checked last: it may have changed between two steps.
  return { job, problems, namespaceError: namespaceRefusal(store, job) }
}

/**
 * Returns the reason for which a namespace rejects a job: it does not exist, or does not allow the
 * job's node pool, drivers or network modes. Undefined if it accepts the job.
 */
export function namespaceRefusal({ tables }: Store, job: Job): Refusal | undefined {
  const namespace = tables.namespaces.find(job.Namespace)
  if (namespace === undefined) {
    const text = `job "${job.ID}" is in nonexistent namespace "${job.Namespace}"`
    return refusal('unknown-namespace', text)
  }
  const problem = tables.node_pools.has(job.NodePool)
    ? namespaceRuleProblem(namespace, job)
    : `job "${job.ID}" is in nonexistent node pool "${job.NodePool}"`
  return problem === undefined ? undefined : refusal('invalid-input', problem)
}

function namespaceRuleProblem(namespace: Namespace, job: Job): string | undefined {
  const { Capabilities: uses, NodePoolConfiguration: pools } = namespace
  const where = `in namespace "${namespace.Name}"`
  if (!isAllowed(job.NodePool, pools?.Allowed, pools?.Denied))
    return `node pool "${job.NodePool}" is not allowed ${where}`
  const tasks = job.TaskGroups.flatMap((group) => group.Tasks)
  const driver = tasks
    .map((task) => task.Driver)
    .find((one) => !isAllowed(one, uses?.EnabledTaskDrivers, uses?.DisabledTaskDrivers))
  if (driver !== undefined) return `used task driver "${driver}" is not allowed ${where}`
  const mode = job.TaskGroups.flatMap((group) => group.Networks ?? [])
    .map((network) => network.Mode || 'host')
    .find((one) => !isAllowed(one, uses?.EnabledNetworkModes, uses?.DisabledNetworkModes))
  return mode === undefined
    ? undefined
    : `used group network mode "${mode}" is not allowed ${where}`
}

/** True if allocations of a namespace may run in the node pool. */
export function isPoolAllowed(namespace: Namespace | undefined, pool: string): boolean {
  const pools = namespace?.NodePoolConfiguration
  return isAllowed(pool, pools?.Allowed, pools?.Denied)
}

type Patterns = readonly string[] | null | undefined

/** Without an allow list everything is allowed; the deny list takes precedence. */
function isAllowed(name: string, allowed: Patterns, denied: Patterns): boolean {
  const matches = (patterns: Patterns): boolean =>
    (patterns ?? []).some((pattern) => matchGlob(pattern, name))
  return (!allowed?.length || matches(allowed)) && !matches(denied)
}

type JobFileContext = Pick<WorkloadContext, 'jobFiles' | 'clock'>
type Submission = Input<JobSubmission> | null | undefined

/**
 * Returns the positions of the problems in the submitted job file, one line per problem. Empty if
 * the file is missing or unreadable: the problems were already reported.
 */
export async function locateProblems(
  context: JobFileContext,
  submission: Submission,
  problems: readonly JobProblem[],
  origin: TaskOrigin,
): Promise<readonly string[]> {
  if (problems.length === 0) return []
  return (await parseSource(context, submission, { problems }, origin))?.placed ?? []
}

/**
 * Returns the positions of job fields in the job file, in order; empty if the file is unreadable.
 */
export async function locateFields(
  context: JobFileContext,
  submission: Submission,
  paths: readonly string[],
  origin: TaskOrigin,
): Promise<readonly JobFilePlace[]> {
  if (paths.length === 0) return []
  return (await parseSource(context, submission, { paths }, origin))?.places ?? []
}

async function parseSource(
  { jobFiles, clock }: JobFileContext,
  submission: Submission,
  locate: Pick<JobFileTask, 'problems' | 'paths'>,
  origin: TaskOrigin,
) {
  const { Source: text = '', Format: format = '', Variables: variables = '' } = submission ?? {}
  if (text === null || text === '' || format === 'json') return undefined
  const flags = Object.entries(submission?.VariableFlags ?? {})
  const task = {
    text,
    variables: variables ?? '',
    flags: Object.fromEntries(flags.map(([name, value]) => [name, value ?? ''])),
    isLegacy: format === 'hcl1',
    defaults: undefined,
    nowMs: clock.nowMs(),
    ...locate,
  }
  const outcome = await jobFiles.read(task, origin)
  return outcome.ok && outcome.value.kind === 'job' ? outcome.value : undefined
}

/**
 * Reports whether the submitter may mount the volumes of a job's groups, and run storage plugins.
 * Write permission includes read-only mounts.
 */
export function mayUseVolumes(
  grants: Grants,
  namespace: string,
  job: Pick<Input<Job>, 'TaskGroups'> | null | undefined,
): boolean {
  return (job?.TaskGroups ?? []).every(
    (group) => mayMount(grants, namespace, group) && mayRunStoragePlugins(grants, namespace, group),
  )
}

function mayMount(grants: Grants, namespace: string, { Volumes }: Input<TaskGroup>): boolean {
  return Object.values(Volumes ?? {}).every((volume) => {
    if (volume?.Type === 'csi') return grants.allows(namespace, 'csi-mount-volume')
    const source = volume?.Source ?? ''
    if (grants.hostVolume(source, 'mount-readwrite')) return true
    return volume?.ReadOnly === true && grants.hostVolume(source, 'mount-readonly')
  })
}

function mayRunStoragePlugins(
  grants: Grants,
  namespace: string,
  { Tasks }: Input<TaskGroup>,
): boolean {
  const isPlugin = (Tasks ?? []).some((task) => Boolean(task.CSIPluginConfig))
  return !isPlugin || grants.allows(namespace, 'csi-register-plugin')
}

/** Returns the current warnings of a valid job. */
export function registrationWarnings(
  { clock, utcOffsetAt }: Pick<WorkloadContext, 'clock' | 'utcOffsetAt'>,
  job: Job,
): readonly string[] {
  const warnings = jobWarnings(job)
  if (job.Periodic === null || !isActivePeriodic(job)) return warnings
  const launchMs = nextLaunchMs(job.Periodic, clock.nowMs(), utcOffsetAt)
  return launchMs === undefined ? [...warnings, NEVER_LAUNCHED] : warnings
}

const NEVER_LAUNCHED = 'Periodic: no time to come fits the schedule, so nothing will be launched'

/** Returns the problem of the message of a new version. */
export function versionMessageProblem({
  Message,
}: Pick<JobRegisterRequest, 'Message'>): string | undefined {
  const charsMax = LIMITS.jobMessageCharsMax
  return (Message ?? '').length > charsMax
    ? `Message is longer than ${charsMax} characters`
    : undefined
}

/** Returns the problem of a job as it was submitted, before it is canonicalized. */
export function checkSubmittedJob(job: Input<Job>): string | undefined {
  const size = jobSizeProblem(job)
  if (size !== undefined) return size
  const { ID, Type, TaskGroups } = job
  // A longer ID does not fit into a path, so the job could be neither read nor stopped.
  if ((ID ?? '').length > LIMITS.pathParamCharsMax)
    return `Job ID is longer than ${LIMITS.pathParamCharsMax} characters`
  const scales = TaskGroups?.some((group) => Boolean(group.Scaling)) ?? false
  return Type === 'system' && scales ? SYSTEM_SCALING_PROBLEM : undefined
}

/** Refuses changes that a new version must not make. */
export function checkUpdate(job: Job, current: Job | undefined): Refusal | undefined {
  if (job.Payload !== null)
    return refusal('invalid-input', "job can't be submitted with a payload, only dispatched")
  const text = jobUpdateProblem(current, job)
  return text === undefined ? undefined : refusal('invalid-input', text)
}

export function checkEnforcedIndex(
  body: JobRegisterRequest,
  current: Job | undefined,
): Refusal | undefined {
  if (body.EnforceIndex !== true) return undefined
  const expectedIndex = body.JobModifyIndex ?? 0
  const conflict = (problem: string): Refusal =>
    refusal('index-conflict', `Enforcing job modify index ${expectedIndex}: ${problem}`)
  if (expectedIndex === 0) return current === undefined ? undefined : conflict('job already exists')
  if (current === undefined) return conflict('job does not exist')
  if (current.JobModifyIndex === expectedIndex) return undefined
  return conflict(`job exists with conflicting job modify index: ${current.JobModifyIndex}`)
}

/** Checks that the body contains the job ID of the path. */
export function checkBodyJobId(
  body: { readonly JobID?: string | null | undefined },
  jobId: string,
): Refusal | undefined {
  const bodyJobId = body.JobID ?? ''
  if (bodyJobId === '') return refusal('invalid-input', 'JobID must be specified')
  return bodyJobId === jobId ? undefined : refusal('invalid-input', 'Job ID does not match')
}
