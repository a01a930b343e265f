import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { resolveIdPrefix, isIdPrefix } from '../resolve.ts'

export type AllocationStub = ItemOf<'listAllocations'>

/** Finds an allocation by ID, ID prefix, or as `job/group[index]`. */
export async function findAllocation(
  invocation: CommandContext,
  input: string,
): Promise<AllocationStub> {
  const selectors = parseSelector(input)
  if (!isIdPrefix(input)) return await findBySelector(invocation, selectors)
  try {
    return await findAllocationById(invocation, input)
  } catch (thrown) {
    // A job may be called `cafe`, which could also be the prefix of an ID.
    const isMissing = thrown instanceof CommandError && thrown.code === EXIT_CODES.missing
    if (!isMissing || input.includes('-')) throw thrown
    return await findBySelector(invocation, selectors).catch(() => {
      throw thrown
    })
  }
}

/** IDs are unique across namespaces, so no namespace is needed to find an allocation. */
async function findAllocationById(
  { client, settings, signal }: CommandContext,
  given: string,
): Promise<AllocationStub> {
  const namespace = settings.namespace ?? '*'
  return await resolveIdPrefix({
    noun: 'allocation',
    input: given,
    listCommand: 'reeve alloc status',
    search: (prefix) => client.pages('listAllocations', { query: { prefix, namespace }, signal }),
    describe: ({ Name, ClientStatus, Namespace }) => `${Name} in ${Namespace}, ${ClientStatus}`,
  })
}

/** Finds the allocation of the argument, or with `--job` a running allocation of that job. */
export async function resolveAllocation(
  invocation: CommandContext,
  given: string | undefined,
): Promise<AllocationStub> {
  const { flags } = invocation
  const job = flags.string('job')
  const selected = { group: flags.string('group'), index: flags.integer('index') }
  if (job !== undefined) return await findBySelector(invocation, [{ job, ...selected }])
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

/** Selects allocations by job, group and index. */
interface AllocationSelector {
  readonly job: string
  readonly group: string | undefined
  readonly index: number | undefined
}

/**
 * Parses `web`, `web/api`, `web/api[1]` or `web[1]`. Returns all readings, the most likely one
 * first, because job IDs may contain slashes too.
 */
export function parseSelector(text: string): readonly AllocationSelector[] {
  const [, name = text, digits] = /^(.+?)\[(\d{1,9})\]$/.exec(text) ?? []
  const index = digits === undefined ? undefined : Number(digits)
  const slash = name.lastIndexOf('/')
  const wholeName = { job: name, group: undefined, index }
  if (slash <= 0) return [wholeName]
  return [wholeName, { job: name.slice(0, slash), group: name.slice(slash + 1), index }]
}

/** Finds the newest running allocation, which runs the newest version of the job. */
async function findBySelector(
  invocation: CommandContext,
  readings: readonly AllocationSelector[],
): Promise<AllocationStub> {
  const { client } = invocation
  for (const instance of readings) {
    const params = { job_id: instance.job }
    const { data } = await client.v1.listJobAllocations({ params })
    if (data.length > 0) return newestRunning(invocation, instance, data)
  }
  const instance = readings.at(-1) ?? { job: '', group: undefined, index: undefined }
  return newestRunning(invocation, instance, [])
}

function newestRunning(
  { settings }: CommandContext,
  { job, group, index }: AllocationSelector,
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
  throw new CommandError(`No allocation${ofGroup}${withIndex} of ${where} is running.`, {
    code: EXIT_CODES.missing,
    hint:
      names.length > 0
        ? `Running allocations: ${names.join(', ')}.`
        : `"reeve job status ${job}" shows the job, "reeve job explain ${job}" why nothing runs.`,
  })
}

/** Returns the given task, or the only one of the allocation. */
export function resolveTask(allocation: AllocationStub, given: string | undefined): string {
  const tasks = taskNames(allocation)
  const [only] = tasks
  if (given === undefined && only !== undefined && tasks.length === 1) return only
  if (given === undefined) {
    throw new UsageError(
      `allocation ${allocation.Name} has the tasks ${tasks.join(', ')}: name one.`,
    )
  }
  if (tasks.includes(given)) return given
  throw new CommandError(`Allocation ${allocation.Name} has no task "${given}".`, {
    code: EXIT_CODES.missing,
    hint: `It has ${tasks.join(', ')}.`,
  })
}

/** Names of the tasks, sorted. */
export function taskNames({ TaskStates, TaskResources }: AllocationStub): readonly string[] {
  return Object.keys({ ...TaskResources, ...TaskStates }).toSorted()
}

/** The parameters of a request about an allocation. */
export function allocationRequest({ ID, Namespace }: AllocationStub) {
  return { params: { alloc_id: ID }, query: { namespace: Namespace } }
}
