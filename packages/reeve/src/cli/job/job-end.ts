import { failureOf, type AllocationStub, type Job } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { shortenId } from '../output/table.ts'
import { suggestCommand } from '../plan/next-command.ts'
import { lastMessage } from '../watch/rollout-state.ts'

export interface JobKey {
  readonly jobId: string
  readonly namespace: string
}

/** Waits until a batch job has ended; returns the exit code of its tasks. */
export async function waitForCompletion(invocation: CommandContext, job: JobKey): Promise<number> {
  const { client, output, signal } = invocation
  const request = { params: { job_id: job.jobId }, query: { namespace: job.namespace } }
  const ended = new AbortController()
  const reports = reportFailures(invocation, job, AbortSignal.any([signal, ended.signal]))
  try {
    for await (const { data } of client.blocking('readJob', { ...request, signal })) {
      if (data.Status === 'dead') break
      if (runsIndefinitely(data)) {
        throw new UsageError(
          `job "${job.jobId}" is a ${data.Type} job, which runs until it is stopped. ` +
            `"reeve job status --watch ${job.jobId}" waits for its deployment.`,
        )
      }
    }
  } finally {
    ended.abort()
    await reports
  }
  const { data: allocations } = await client.v1.listJobAllocations(request)
  const { code, failed } = summarizeEnd(allocations)
  const outcome = failed === undefined ? 'complete' : 'failed'
  output.printLine(`Job "${job.jobId}" is ${outcome}.`)
  if (failed !== undefined) {
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

/** Whether the job never ends by itself. */
function runsIndefinitely({ Type }: Job): boolean {
  return Type === 'service' || Type === 'system'
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
