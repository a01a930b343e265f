import type { AllocationStub, Job } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { shortId } from '../output/table.ts'
import { nextCommand } from '../plan/next-command.ts'
import { lastMessage } from '../watch/rollout-state.ts'

export interface NamedJob {
  readonly jobId: string
  readonly namespace: string
}

/** Waits until a batch job has ended; returns the exit code of its tasks. */
export async function waitForEnd(invocation: Invocation, job: NamedJob): Promise<number> {
  const { client, output, signal } = invocation
  const request = { params: { job_id: job.jobId }, query: { namespace: job.namespace } }
  for await (const { data } of client.blocking('readJob', { ...request, signal })) {
    if (data.Status === 'dead') break
    if (isEndless(data)) {
      throw new UsageError(
        `job "${job.jobId}" is a ${data.Type} job, which runs until it is stopped. ` +
          `"reeve job status --watch ${job.jobId}" waits for its deployment.`,
      )
    }
  }
  const { data: allocations } = await client.v1.listJobAllocations(request)
  const { code, failed } = endOf(allocations)
  const ended = failed === undefined ? 'complete' : 'failed'
  output.say(`Job "${job.jobId}" is ${ended}.`)
  if (failed !== undefined) {
    const logs = nextCommand(invocation, ['job', 'logs', '--stderr', job.jobId], job.namespace)
    output.note(`Allocation ${shortId(failed.ID)} failed: ${lastMessage(failed)}`)
    output.note(`To see what it wrote:\n\n  ${logs}`)
  }
  return code
}

/** Whether the job never ends by itself. */
function isEndless({ Type }: Job): boolean {
  return Type === 'service' || Type === 'system'
}

/**
 * The exit code of a job that has ended: that of the task that failed last, or success. An
 * allocation that was replaced does not count, its replacement does.
 */
export function endOf(allocations: readonly AllocationStub[]): {
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
