import type { ItemOf } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { findById, isIdPrefix } from '../find-id.ts'

export type AllocationStub = ItemOf<'listAllocations'>

/** The allocation that a person names: by ID, ID prefix, or as `job/group[index]`. */
export async function findAllocation(
  invocation: Invocation,
  given: string,
): Promise<AllocationStub> {
  const readings = parseInstance(given)
  if (!isIdPrefix(given)) return await instanceOf(invocation, readings)
  try {
    return await findAllocationById(invocation, given)
  } catch (thrown) {
    // A job may be called `cafe`, which could also be the prefix of an ID.
    const isMissing = thrown instanceof CommandFailure && thrown.code === EXIT_CODES.missing
    if (!isMissing || given.includes('-')) throw thrown
    return await instanceOf(invocation, readings).catch(() => {
      throw thrown
    })
  }
}

/** IDs are unique across namespaces, so no namespace is needed to find an allocation. */
async function findAllocationById(
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

/** The allocation given as argument, or with `--job` a running one of that job. */
export async function chosenAllocation(
  invocation: Invocation,
  given: string | undefined,
): Promise<AllocationStub> {
  const { flags } = invocation
  const job = flags.text('job')
  const selected = { group: flags.text('group'), index: flags.whole('index') }
  if (job !== undefined) return await instanceOf(invocation, [{ job, ...selected }])
  if (selected.group !== undefined || selected.index !== undefined) {
    throw new UsageError('--group and --index need --job, or write JOB/GROUP[INDEX].')
  }
  if (given === undefined) {
    throw new UsageError(
      'name an allocation, or a job with --job. "reeve alloc status" lists allocations.',
    )
  }
  return await findAllocation(invocation, given)
}

/** Selects an allocation of a job. */
interface Instance {
  readonly job: string
  readonly group: string | undefined
  readonly index: number | undefined
}

/**
 * What `web`, `web/api`, `web/api[1]` or `web[1]` may mean, the likelier reading first: the ID of a
 * job may contain slashes too.
 */
export function parseInstance(text: string): readonly Instance[] {
  const [, name = text, digits] = /^(.+?)\[(\d{1,9})\]$/.exec(text) ?? []
  const index = digits === undefined ? undefined : Number(digits)
  const slash = name.lastIndexOf('/')
  const whole = { job: name, group: undefined, index }
  if (slash <= 0) return [whole]
  return [whole, { job: name.slice(0, slash), group: name.slice(slash + 1), index }]
}

/** The running allocation that was placed last: it runs the newest version of the job. */
async function instanceOf(
  invocation: Invocation,
  readings: readonly Instance[],
): Promise<AllocationStub> {
  const { client } = invocation
  for (const instance of readings) {
    const params = { job_id: instance.job }
    const { data } = await client.v1.listJobAllocations({ params })
    if (data.length > 0) return newestOf(invocation, instance, data)
  }
  const instance = readings.at(-1) ?? { job: '', group: undefined, index: undefined }
  return newestOf(invocation, instance, [])
}

function newestOf(
  { settings }: Invocation,
  { job, group, index }: Instance,
  allocations: readonly AllocationStub[],
): AllocationStub {
  const running = allocations.filter(({ ClientStatus }) => ClientStatus === 'running')
  const newest = running
    .filter(({ TaskGroup }) => group === undefined || TaskGroup === group)
    .filter(({ Name }) => index === undefined || Name.endsWith(`[${index}]`))
    .toSorted((a, b) => b.CreateIndex - a.CreateIndex)[0]
  if (newest !== undefined) return newest
  const ofGroup = group === undefined ? '' : ` of group "${group}"`
  const withIndex = index === undefined ? '' : ` with index ${index}`
  const where = `job "${job}" in namespace "${settings.namespace ?? 'default'}"`
  const names = running.map(({ Name }) => Name).toSorted()
  throw new CommandFailure(`No allocation${ofGroup}${withIndex} of ${where} is running.`, {
    code: EXIT_CODES.missing,
    hint:
      names.length > 0
        ? `Running allocations: ${names.join(', ')}.`
        : `"reeve job status ${job}" shows the job, "reeve job explain ${job}" why nothing runs.`,
  })
}

/** The named task, or the only one. */
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

/** Names of the tasks, sorted. */
function tasksOf({ TaskStates, TaskResources }: AllocationStub): readonly string[] {
  return Object.keys({ ...TaskResources, ...TaskStates }).toSorted()
}

/** The parameters of a request about an allocation. */
export function callFor({ ID, Namespace }: AllocationStub) {
  return { params: { alloc_id: ID }, query: { namespace: Namespace } }
}
