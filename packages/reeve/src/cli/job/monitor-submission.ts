import { failureOf, type AllocationStub, type Job } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { shortenId } from '../output/format.ts'
import { suggestCommand } from '../plan/suggest-command.ts'
import { lastMessage } from '../monitor/deployment-text.ts'
import { monitorDeployment, type MonitoredDeployment } from '../monitor/deployment-monitor.ts'
import { findJobOrUseId, isParent } from './find-job.ts'

interface Submission {
  /** The response of the server, for `--json`. */
  readonly data: object
  readonly rollout: MonitoredDeployment
  /** The result as text. */
  readonly message: string
}

/** Creates an error if the change was accepted, but the token may not read the evaluation. */
function cannotMonitorError({ status, text }: ApiError): CommandError | undefined {
  if (status !== 403 && status !== 404) return undefined
  return new CommandError(`Submitted, but the evaluation cannot be read: ${text}.`, {
    code: status === 403 ? EXIT_CODES.denied : EXIT_CODES.missing,
    hint: 'Watching requires namespace:read-job; --detach does not watch.',
  })
}

/** Monitors an accepted change, unless `--detach` is set, and returns the exit code. */
export async function monitorSubmission(
  invocation: CommandContext,
  { data, rollout, message }: Submission,
): Promise<number> {
  const { output, flags } = invocation
  if (flags.has('wait') && flags.has('detach')) {
    throw new UsageError('--wait and --detach exclude each other.')
  }
  if (rollout.evalId === '') {
    output.print(data, () => message)
    return EXIT_CODES.ok
  }
  if (flags.has('detach')) {
    const words = ['job', 'status', '--watch', rollout.jobId]
    const watch = suggestCommand(invocation, words, rollout.namespace)
    output.print(data, () => `${message}\nTo watch it:\n\n  ${watch}\n`)
    return EXIT_CODES.ok
  }
  output.printLine(message)
  const { code, state } = await monitorDeployment(invocation, rollout).catch((thrown: unknown) => {
    throw thrown instanceof ApiError ? (cannotMonitorError(thrown) ?? thrown) : thrown
  })
  const { evaluation, deployment, allocations } = state
  if (output.isStructured) {
    const found = { Evaluation: evaluation ?? null, Deployment: deployment ?? null }
    output.print({ ...data, ...found, Allocations: allocations }, () => '')
  }
  if (!flags.has('wait')) return code
  // A failed allocation of a batch job may be replaced: the end of the job decides.
  const hasFailed = code === EXIT_CODES.failed && deployment === undefined
  if (code !== EXIT_CODES.ok && !hasFailed) return code
  return await waitForCompletion(invocation, rollout, hasFailed)
}

interface JobKey {
  readonly jobId: string
  readonly namespace: string
}

/** Waits until a batch job has ended; returns the exit code of its tasks. */
async function waitForCompletion(
  invocation: CommandContext,
  job: JobKey,
  isReported = false,
): Promise<number> {
  const { client, output, signal } = invocation
  const request = { params: { job_id: job.jobId }, query: { namespace: job.namespace } }
  const ended = new AbortController()
  const reports = reportFailures(invocation, job, AbortSignal.any([signal, ended.signal]))
  try {
    for await (const { data } of client.blocking('readJob', { ...request, signal })) {
      if (data.Status === 'dead') break
      const reason = endlessReason(data)
      if (reason !== undefined) throw new UsageError(reason)
    }
  } finally {
    ended.abort()
    await reports
  }
  const { data: allocations } = await client.v1.listJobAllocations(request)
  const { code, failed } = summarizeEnd(allocations)
  const outcome = failed === undefined ? 'complete' : 'failed'
  output.printLine(`Job "${job.jobId}" is ${outcome}.`)
  if (failed !== undefined && !isReported) {
    const logs = suggestCommand(invocation, ['job', 'logs', '--stderr', job.jobId], job.namespace)
    output.printNotice(`Allocation ${shortenId(failed.ID)} failed: ${lastMessage(failed)}`)
    output.printNotice(`To see what it wrote:\n\n  ${logs}`)
  }
  return code
}

/**
 * Reports tasks that failed and are tried again: a job with restarts ends long after its first
 * failure.
 */
async function reportFailures(
  { client, host, output }: CommandContext,
  { jobId, namespace }: JobKey,
  signal: AbortSignal,
): Promise<void> {
  const request = { params: { job_id: jobId }, query: { namespace }, signal }
  const reported = new Set<string>()
  try {
    for await (const { data } of client.blocking('listJobAllocations', request))
      for (const one of data) {
        const failure = failureOf(one, host.nowMs())
        const key = `${one.ID} ${failure?.Time}`
        if (failure === undefined || one.ClientStatus === 'failed' || reported.has(key)) continue
        reported.add(key)
        const task = failure.Task === '' ? '' : `task "${failure.Task}" `
        output.printNotice(
          `Allocation ${shortenId(one.ID)}: ${task}${failure.Text}; it is restarted.`,
        )
      }
  } catch (thrown) {
    if (!signal.aborted) throw thrown
  }
}

/** Returns why the job never ends by itself; undefined if it does. */
function endlessReason(job: Job): string | undefined {
  const { ID, Type } = job
  if (isParent(job))
    return (
      `job "${ID}" runs nothing itself: it launches child jobs. ` +
      `"reeve job status ${ID}" lists them; wait for one of them.`
    )
  if (Type !== 'service' && Type !== 'system') return undefined
  return (
    `job "${ID}" is a ${Type} job, which runs until it is stopped. ` +
    `"reeve job status --watch ${ID}" waits for its deployment.`
  )
}

/**
 * The exit code of a job that has ended: that of the task that failed last, or success. An
 * allocation that was replaced does not count, its replacement does.
 */
export function summarizeEnd(allocations: readonly AllocationStub[]): {
  readonly code: number
  readonly failed: AllocationStub | undefined
} {
  const replaced = new Set(allocations.map(({ PreviousAllocation }) => PreviousAllocation))
  const failed = allocations
    .filter(({ ID, ClientStatus }) => !replaced.has(ID) && isFailure(ClientStatus))
    .toSorted((a, b) => b.ModifyIndex - a.ModifyIndex)[0]
  if (failed === undefined) return { code: EXIT_CODES.ok, failed }
  return { code: exitCodeOf(failed) ?? EXIT_CODES.failed, failed }
}

function isFailure(status: AllocationStub['ClientStatus']): boolean {
  return status === 'failed' || status === 'lost'
}

/** The exit code of the failed task that ended last; undefined when none ended by itself. */
function exitCodeOf({ TaskStates }: AllocationStub): number | undefined {
  const ends = Object.values(TaskStates ?? {})
    .filter(({ Failed }) => Failed)
    .flatMap(({ Events }) => Events.filter(({ Type }) => Type === 'Terminated'))
    .toSorted((a, b) => b.Time - a.Time)
  return ends.find(({ ExitCode }) => ExitCode !== 0)?.ExitCode
}

/** `job wait`: waits until a batch job has ended and exits with its exit code. */
export async function runJobWait(invocation: CommandContext): Promise<number> {
  const { ID, Namespace } = await findJobOrUseId(invocation, invocation.args[0] ?? '')
  return await waitForCompletion(invocation, { jobId: ID, namespace: Namespace })
}
