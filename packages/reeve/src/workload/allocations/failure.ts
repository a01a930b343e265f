import {
  FAILURE_CHECK_CHARS_MAX,
  FAILURE_LINE_CHARS_MAX,
  FAILURE_LINES_MAX,
  failureOf,
  type AllocationFailure,
  type AllocationStub,
  type CheckResult,
  type Failure,
  type Job,
  type JobFilePlace,
  type LastOutput,
} from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Caller } from '../../acl/index.ts'
import {
  allocationStub,
  checkUuid,
  failingField,
  nextAttempt,
  refusal,
  remediesFor,
  type AllocationRow,
  type Refusal,
} from '../../model/index.ts'
import { jobVersionKey, namespacedKey } from '../../state/index.ts'
import type { WorkloadContext, WorkOrigin } from '../context.ts'
import { locateFields } from '../jobs/checks.ts'
import { readSubmission, versionsOf } from '../jobs/versions.ts'

interface FailureParams {
  readonly allocId: string
  readonly origin: WorkOrigin
  /** Reads the last output of a task from its node, before its end or up to now. */
  readonly readTaskOutput: (
    row: AllocationRow,
    wanted: { readonly task: string; readonly ended: boolean },
  ) => Promise<Result<LastOutput, Refusal>>
}

/** Explains why an allocation fails: the cause, the last output, the next attempt, and remedies. */
export async function allocationFailure(
  context: WorkloadContext,
  caller: Caller,
  params: FailureParams,
): Promise<Result<AllocationFailure, Refusal>> {
  const id = checkUuid('alloc', params.allocId)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const row = context.store.tables.allocations.find(id.value)
  // An allocation that the caller may not read is reported as not found.
  if (row === undefined || !caller.grants.allows(row.Namespace, 'read-job'))
    return err(refusal('alloc-not-found', 'allocation not found'))
  const allocation = allocationStub(row)
  const failure = failureOf(allocation, context.clock.nowMs())
  if (failure === undefined) return ok({ Failure: null, NextAttempt: null, Remedies: [] })
  const logCapabilities = ['read-logs', 'read-fs'] as const
  const mayReadLines = logCapabilities.some((one) => caller.grants.allows(row.Namespace, one))
  const output = await readFailureOutput(params, row, { allocation, failure, mayReadLines })
  const next = findNextAttempt(context, { row, allocation, failure })
  const position = await findJobFilePosition(context, { row, failure }, params.origin)
  const stable = previousStableVersion(context, row)
  return ok({
    Failure: failure,
    ...output,
    NextAttempt: next,
    Remedies: [
      ...remediesFor({ failure, allocation, next, stableVersion: stable, place: position }),
    ],
  })
}

interface FailedAllocation {
  readonly row: AllocationRow
  readonly failure: Failure
}

interface OutputAccess {
  readonly allocation: AllocationStub
  readonly failure: Failure
  readonly mayReadLines: boolean
}

type FailureOutput = Pick<AllocationFailure, 'Lines' | 'LinesFrom' | 'LinesOmitted' | 'Check'>

/** Kinds of failure with output; a task that was never started has none. */
const KINDS_WITH_OUTPUT: ReadonlySet<Failure['Kind']> = new Set(['exit', 'oom', 'check'])

async function readFailureOutput(
  { readTaskOutput }: FailureParams,
  row: AllocationRow,
  { allocation, failure, mayReadLines }: OutputAccess,
): Promise<FailureOutput> {
  const { Kind, Task: task } = failure
  if (!KINDS_WITH_OUTPUT.has(Kind)) return { LinesOmitted: 'the task was not running' }
  const isRunning = allocation.TaskStates?.[task]?.State === 'running'
  const isRestartedByCheck = Kind === 'check' && (allocation.TaskStates?.[task]?.Restarts ?? 0) > 0
  const hasEnded = !isRunning || Kind !== 'check' || isRestartedByCheck
  // Checks require `read-job`, log lines `read-logs`.
  if (!mayReadLines && Kind !== 'check') return { LinesOmitted: NEEDS_READ_LOGS }
  const output = await readTaskOutput(row, { task, ended: hasEnded })
  if (!output.ok) return { LinesOmitted: output.error.message }
  const { Type, Text, Checks } = output.value
  const [check] = Checks
  return {
    ...(Kind === 'check' && check !== undefined && { Check: truncateCheck(check) }),
    ...(!mayReadLines
      ? { LinesOmitted: NEEDS_READ_LOGS }
      : Type === null
        ? { LinesOmitted: 'the task wrote nothing' }
        : { Lines: lastLines(Text), LinesFrom: Type }),
  }
}

const NEEDS_READ_LOGS = 'needs read-logs'

function lastLines(text: string): string[] {
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  return lines.slice(-FAILURE_LINES_MAX).map((line) => line.slice(0, FAILURE_LINE_CHARS_MAX))
}

function truncateCheck(check: CheckResult): CheckResult {
  return { ...check, Output: check.Output.slice(0, FAILURE_CHECK_CHARS_MAX) }
}

function findNextAttempt(
  { store: { tables } }: WorkloadContext,
  { row, allocation, failure }: FailedAllocation & { readonly allocation: AllocationStub },
) {
  const jobKey = namespacedKey(row.Namespace, row.JobID)
  const followUp = tables.evaluations.find(allocation.FollowupEvalID)
  return nextAttempt({
    allocation,
    task: failure.Task,
    job: tables.jobs.find(jobKey),
    group: versionOf(tables.job_versions, row)?.TaskGroups.find(
      ({ Name }) => Name === row.TaskGroup,
    ),
    followUp,
    deployment: tables.deployments.find(allocation.DeploymentID),
    openEvaluations: tables.evaluations
      .rowsByIndex('open', jobKey)
      .filter(({ ID }) => ID !== allocation.FollowupEvalID),
  })
}

function versionOf(
  versions: WorkloadContext['store']['tables']['job_versions'],
  { Namespace, JobID, JobVersion }: AllocationRow,
): Job | undefined {
  return versions.find(jobVersionKey(Namespace, JobID, JobVersion))
}

/** Returns the position of the failing part in the job file that the version was submitted with. */
async function findJobFilePosition(
  context: WorkloadContext,
  { row, failure }: FailedAllocation,
  origin: WorkOrigin,
): Promise<JobFilePlace | undefined> {
  const { Namespace: namespace, JobID: jobId, JobVersion: version } = row
  const job = versionOf(context.store.tables.job_versions, row)
  const group = job?.TaskGroups.findIndex(({ Name }) => Name === row.TaskGroup) ?? -1
  const tasks = job?.TaskGroups[group]?.Tasks ?? []
  const task = tasks.findIndex(({ Name }) => Name === failure.Task)
  if (group < 0 || task < 0) return undefined
  const path = `TaskGroups[${group}].Tasks[${task}]${failingField(failure)}`
  const submission = await readSubmission(context.store, { namespace, jobId, version })
  const [place] = await locateFields(context, submission, [path], origin)
  return place
}

function previousStableVersion(context: WorkloadContext, row: AllocationRow): number | undefined {
  const { Namespace: namespace, JobID: jobId, JobVersion } = row
  const current = context.store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (current?.Version !== JobVersion) return undefined
  return versionsOf(context, { namespace, jobId }).findLast(
    ({ Stable, Stop, Version }) => Stable && !Stop && Version < JobVersion,
  )?.Version
}
