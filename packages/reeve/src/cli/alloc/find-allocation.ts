import type { ItemOf } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { findById } from '../find-id.ts'

export type AllocationStub = ItemOf<'listAllocations'>

/** Ids are unique in all namespaces, so none has to be named to find an allocation. */
export async function findAllocation(
  { client, settings, signal }: Invocation,
  given: string,
): Promise<AllocationStub> {
  const namespace = settings.namespace ?? '*'
  return await findById({
    noun: 'allocation',
    given,
    lists: 'reeve alloc status',
    search: (prefix) => client.pages('listAllocations', { query: { prefix, namespace }, signal }),
    describe: ({ Name, ClientStatus, Namespace }) => `${Name} in ${Namespace}, ${ClientStatus}`,
  })
}

/** The allocation that is named, or with `--job` a running one of that job. */
export async function chosenAllocation(
  invocation: Invocation,
  given: string | undefined,
): Promise<AllocationStub> {
  const job = invocation.flags.text('job')
  if (job !== undefined) return await runningAllocationOf(invocation, job)
  if (given === undefined) {
    throw new UsageError(
      'name an allocation, or a job with --job. "reeve alloc status" lists them.',
    )
  }
  return await findAllocation(invocation, given)
}

/** The one that was placed last: who asks for any of a job means its newest version. */
async function runningAllocationOf(
  { client, settings }: Invocation,
  job: string,
): Promise<AllocationStub> {
  const { data } = await client.v1.listJobAllocations({ params: { job_id: job } })
  const running = data.filter(({ ClientStatus }) => ClientStatus === 'running')
  const newest = running.toSorted((a, b) => b.CreateIndex - a.CreateIndex)[0]
  if (newest !== undefined) return newest
  const where = `job "${job}" in namespace "${settings.namespace ?? 'default'}"`
  throw new CommandFailure(`No allocation of ${where} is running.`, {
    code: EXIT_CODES.missing,
    hint: `"reeve job status ${job}" shows the job, "reeve job explain ${job}" why nothing runs.`,
  })
}

/** The task that is named, or the only one. */
export function chosenTask(allocation: AllocationStub, given: string | undefined): string {
  const tasks = tasksOf(allocation)
  const [only] = tasks
  if (given === undefined && only !== undefined && tasks.length === 1) return only
  if (given === undefined) {
    throw new UsageError(
      `allocation ${allocation.Name} has the tasks ${tasks.join(', ')}: name one.`,
    )
  }
  if (tasks.includes(given)) return given
  throw new CommandFailure(`Allocation ${allocation.Name} has no task "${given}".`, {
    code: EXIT_CODES.missing,
    hint: `It has ${tasks.join(', ')}.`,
  })
}

/** Names of the tasks, in their order. */
function tasksOf({ TaskStates, TaskResources }: AllocationStub): readonly string[] {
  return Object.keys({ ...TaskResources, ...TaskStates }).toSorted()
}

/** What every call about an allocation says. */
export function callFor({ ID, Namespace }: AllocationStub) {
  return { params: { alloc_id: ID }, query: { namespace: Namespace } }
}
