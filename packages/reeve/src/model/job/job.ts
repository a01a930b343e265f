import type {
  Deployment,
  Input,
  Job,
  JobNodeLoss,
  JobQuarantine,
  JobStatus,
  JobSubmitter,
  ScalingPolicy,
  TaskGroup,
} from '@reeve/contract'
import { isoFromMs, msFromNs } from '@reeve/kit/duration.ts'
import { estimateRegexSize } from '@reeve/kit/regex-size.ts'
import { isEqual } from '../deep-equal.ts'
import { LIMITS } from '../limits.ts'

/**
 * Reports whether the specifications of two canonical jobs differ, so that the second is a new
 * version of the first. Fields set by servers are ignored.
 */
export function jobSpecChanged(a: Job, b: Job): boolean {
  return !isEqual(specOf(a), specOf(b))
}

function specOf(job: Job): Partial<Job> {
  const {
    Status: _status,
    StatusDescription: _statusDescription,
    Stable: _stable,
    Version: _version,
    VersionTag: _versionTag,
    SubmitTime: _submitTime,
    ServiceTokenID: _serviceTokenId,
    CreateIndex: _createIndex,
    ModifyIndex: _modifyIndex,
    JobModifyIndex: _jobModifyIndex,
    Quarantine: _quarantine,
    NodeLosses: _nodeLosses,
    SubmittedBy: _submittedBy,
    Origin: _origin,
    Message: _message,
    ...spec
  } = job
  return { ...spec, TaskGroups: job.TaskGroups.map(withoutScalingIds) }
}

/**
 * Removes the IDs of scaling policies, which are assigned at registration and kept across versions.
 */
function withoutScalingIds(group: TaskGroup): TaskGroup {
  const withoutId = (policy: ScalingPolicy): ScalingPolicy => ({
    ...policy,
    ID: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  })
  return {
    ...group,
    Scaling: group.Scaling === null ? null : withoutId(group.Scaling),
    Tasks: group.Tasks.map((task) => ({
      ...task,
      ScalingPolicies: task.ScalingPolicies?.map(withoutId) ?? null,
    })),
  }
}

/**
 * Returns the reason why a job may not replace the stored one of the same ID, or be the first
 * version; undefined if it may. The texts are part of the contract.
 */
export function jobUpdateProblem(before: Job | undefined, after: Job): string | undefined {
  if (before === undefined)
    return after.Dispatched ? "job can't be submitted with 'Dispatched' set" : undefined
  if (before.Type !== after.Type)
    return `cannot update job from type "${before.Type}" to "${after.Type}"`
  const [wasPeriodic, isPeriodic] = [before.Periodic !== null, after.Periodic !== null]
  if (wasPeriodic && !isPeriodic) return 'cannot update periodic job to being non-periodic'
  if (!wasPeriodic && isPeriodic) return 'cannot update non-periodic job to being periodic'
  const [tookParameters, takesParameters] = [isParameterized(before), isParameterized(after)]
  if (tookParameters && !takesParameters)
    return 'cannot update parameterized job to being non-parameterized'
  if (!tookParameters && takesParameters)
    return 'cannot update non-parameterized job to being parameterized'
  return before.Dispatched === after.Dispatched ? undefined : "field 'Dispatched' is read-only"
}

/**
 * Reports whether children can be dispatched from a job; a dispatched child has the block too, but
 * is not parameterized itself.
 */
export function isParameterized(job: Job): boolean {
  return job.ParameterizedJob !== null && !job.Dispatched
}

/** Reports whether a job runs only through its children: periodic or dispatched ones. */
export function isParent(job: Job): boolean {
  return job.Periodic !== null || isParameterized(job)
}

/** Reports whether jobs of the type run on every feasible node. */
export function isSystemType(type: string): boolean {
  return type === 'system' || type === 'sysbatch'
}

/** Reports whether allocations of the type can complete. */
export function isBatchType(type: string): boolean {
  return type === 'batch' || type === 'sysbatch'
}

/** Objects of a job that determine its status. */
export interface JobStatusInputs {
  /** A deployment that is neither failed nor successful nor cancelled. */
  readonly hasActiveDeployment: boolean
  /** An allocation that is not terminal on server or client. */
  readonly hasLiveAllocation: boolean
  /** A pending or blocked evaluation of this job. */
  readonly hasOpenEvaluation: boolean
  /** Any evaluation, including one that was just garbage-collected. */
  readonly hadEvaluation: boolean
}

/** Returns the status by the first rule that applies. */
export function jobStatus(job: Job, inputs: JobStatusInputs): JobStatus {
  if (job.Type === 'system' || job.Periodic !== null || isParameterized(job))
    return job.Stop ? 'dead' : 'running'
  if (inputs.hasActiveDeployment) return 'running'
  if (inputs.hasLiveAllocation) return 'running'
  if (inputs.hasOpenEvaluation) return 'pending'
  // Dead jobs are garbage-collected; a quarantined one waits for its release.
  if (job.Quarantine !== undefined && !job.Stop) return 'pending'
  if (shouldRunService(job)) return 'pending'
  if (inputs.hadEvaluation || job.Stop) return 'dead'
  return 'pending'
}

/**
 * Reports a service that should run although it has no live allocation: services never complete.
 */
function shouldRunService({ Type, Stop, TaskGroups }: Job): boolean {
  return Type === 'service' && !Stop && TaskGroups.some((group) => group.Count > 0)
}

/**
 * Returns the reason why a submitted job is too large; undefined if it is not. Defaults make a
 * small group seventeen times larger, and the whole job is validated, compared and placed in one
 * tick: without this limit a request of one megabyte would block the server for seconds (decision
 * 0007).
 */
export function jobSizeProblem(job: Input<Job>): string | undefined {
  const partCount = countParts(job)
  if (partCount > LIMITS.jobPartsMax)
    return `Job has ${partCount} task groups and tasks; at most ${LIMITS.jobPartsMax} are allowed`
  if (countEntries(job, LIMITS.jobEntriesMax) > LIMITS.jobEntriesMax)
    return `Job has more than ${LIMITS.jobEntriesMax} entries in its lists and maps`
  return patternInstructions(job) > LIMITS.patternInstructionsMax
    ? `Regular expressions of the job have more than ${LIMITS.patternInstructionsMax} instructions together`
    : undefined
}

/** Counts the regex instructions of all constraints and affinities of a job or another object. */
export function patternInstructions(
  job: Pick<Input<Job>, 'TaskGroups'> & ConstrainedBlock,
): number {
  let size = addPatternInstructions(job, 0)
  for (const group of job.TaskGroups ?? []) {
    size = addPatternInstructions(group, size)
    for (const task of group.Tasks ?? []) {
      size = addPatternInstructions(task, size)
      for (const device of task.Resources?.Devices ?? [])
        size = addPatternInstructions(device, size)
    }
  }
  return size
}

type ConstrainedBlock = Pick<Input<Job>, 'Constraints' | 'Affinities'>

/** Adds the instructions of one block, until the limit is exceeded. */
function addPatternInstructions(
  { Constraints, Affinities }: ConstrainedBlock,
  before: number,
): number {
  let size = before
  for (const rules of [Constraints, Affinities])
    for (const { Operand, RTarget } of rules ?? [])
      if (Operand === 'regexp' && size <= LIMITS.patternInstructionsMax)
        size += estimateRegexSize((RTarget ?? '').slice(0, LIMITS.constraintCharsMax))
  return size
}

/** Size above which operations on a job take more than a few milliseconds. */
const LARGE_JOB_PARTS = 100
const LARGE_JOB_ENTRIES = 1_000

/** Reports whether work on a job should be sliced, to yield to other requests. */
export function isLargeJob(job: Input<Job>): boolean {
  return (
    countParts(job) > LARGE_JOB_PARTS || countEntries(job, LARGE_JOB_ENTRIES) > LARGE_JOB_ENTRIES
  )
}

function countParts({ TaskGroups }: Input<Job>): number {
  const groups = TaskGroups ?? []
  return groups.reduce((count, { Tasks }) => count + (Tasks?.length ?? 0), groups.length)
}

/**
 * Maximum number of fields of a record in the contract: a larger object is a map, whose entries
 * count.
 */
const RECORD_FIELDS_MAX = 64

/**
 * Counts entries of all lists and large maps, until the limit is exceeded. Fields of records do not
 * count, so that defaults do not change the size of a job.
 */
function countEntries(root: unknown, max: number): number {
  const pending: unknown[] = [root]
  let count = 0
  while (pending.length > 0 && count <= max) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (Array.isArray(value) || inner.length > RECORD_FIELDS_MAX) count += inner.length
    if (count <= max) for (const one of inner) pending.push(one)
  }
  return count
}

/** Author, client and message of a job version. */
export interface VersionOrigin {
  /** Undefined for the server itself, and with ACLs disabled. */
  readonly submittedBy: JobSubmitter | undefined
  readonly origin: string
  /** Empty if none was given. */
  readonly message: string
}

type OriginFields = Pick<Job, 'SubmittedBy' | 'Origin' | 'Message'>

/** Returns the job as a version of this origin, replacing the origin of an earlier one. */
export function withOrigin(job: Job, origin: VersionOrigin | undefined): Job {
  const { SubmittedBy: _submittedBy, Origin: _origin, Message: _message, ...rest } = job
  if (origin === undefined) return rest
  const { submittedBy, origin: Origin, message } = origin
  return {
    ...rest,
    ...(submittedBy === undefined ? {} : { SubmittedBy: submittedBy }),
    Origin,
    ...(message === '' ? {} : { Message: message }),
  }
}

/** Returns the origin of a version, for its deployment. */
export function originFieldsOf(job: OriginFields): Pick<Deployment, keyof OriginFields> {
  const { SubmittedBy, Origin, Message } = job
  return {
    ...(SubmittedBy === undefined ? {} : { SubmittedBy }),
    ...(Origin === undefined ? {} : { Origin }),
    ...(Message === undefined ? {} : { Message }),
  }
}

/**
 * The source of a job version. The text itself is a blob, read on demand; a version created by
 * reverting shares the blob of the original.
 */
export interface JobSubmissionRow {
  readonly Namespace: string
  readonly JobID: string
  readonly Version: number
  readonly JobModifyIndex: number
  readonly BlobKey: string
}

/** Returns the job without records of lost nodes, so that it can be placed like a new one. */
export function withoutQuarantine(job: Job): Job {
  if (job.Quarantine === undefined && job.NodeLosses === undefined) return job
  const { Quarantine: _quarantine, NodeLosses: _losses, ...rest } = job
  return rest
}

/**
 * Reports whether the job is quarantined, or its placements are delayed after the loss of a node.
 */
export function hasPlacementHold(job: Job): boolean {
  return job.Quarantine !== undefined || (job.NodeLosses ?? []).length > 0
}

/** Placement phase of a job with lost nodes, at a given time. */
export type PlacementPhase =
  /** All missing allocations may be placed. */
  | { readonly phase: 'open' }
  /** Nothing may be placed until a new version is registered or the job is released. */
  | { readonly phase: 'quarantined'; readonly quarantine: JobQuarantine }
  /** Nothing may be placed until `untilMs`. */
  | { readonly phase: 'delayed'; readonly untilMs: number; readonly loss: JobNodeLoss }
  /** At most one allocation may run that was placed after the loss, until `untilMs`. */
  | { readonly phase: 'probing'; readonly untilMs: number; readonly loss: JobNodeLoss }

/** Returns the placement phase of a job, derived from its row (decision 0061). */
export function placementPhase(job: Job, nowMs: number): PlacementPhase {
  if (job.Quarantine !== undefined) return { phase: 'quarantined', quarantine: job.Quarantine }
  // A loss too far in the future was recorded with a wrong clock: it delays nothing.
  const losses = (job.NodeLosses ?? []).filter(
    ({ Time }) => msFromNs(Time) <= nowMs + LIMITS.nodeLossDelayMsMax,
  )
  const [first, ...others] = losses
  if (first === undefined) return { phase: 'open' }
  const last = others.reduce((a, b) => (b.CreateIndex >= a.CreateIndex ? b : a), first)
  const retryMs = msFromNs(Math.max(...losses.map(({ RetryTime }) => RetryTime)))
  if (nowMs < retryMs) return { phase: 'delayed', untilMs: retryMs, loss: last }
  const openMs = msFromNs(Math.max(...losses.map(({ ProbeUntil }) => ProbeUntil)))
  return nowMs < openMs ? { phase: 'probing', untilMs: openMs, loss: last } : { phase: 'open' }
}

/** Describes the phase; undefined if nothing is held back. */
export function placementHoldReason(
  phase: PlacementPhase,
  job: Pick<Job, 'ID'>,
): string | undefined {
  switch (phase.phase) {
    case 'open':
      return undefined
    case 'quarantined':
      return `the job is quarantined: ${phase.quarantine.Reason}. ${releaseHint(job)}`
    case 'delayed':
      return `placements are delayed until ${isoFromMs(phase.untilMs)}: ${lossDescription(phase.loss)}`
    case 'probing':
      return (
        `one allocation is tried first, the others follow at ${isoFromMs(phase.untilMs)}: ` +
        lossDescription(phase.loss)
      )
  }
}

function releaseHint({ ID }: Pick<Job, 'ID'>): string {
  return `Register a corrected version, or release the job: reeve job release ${ID}`
}

function lossDescription({ NodeID }: JobNodeLoss): string {
  return `node ${NodeID} was lost while the job was starting on it`
}
