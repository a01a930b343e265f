import type { AllocationStub, JobAction } from '@reeve/contract'
import { findAllocation } from '../alloc/find-allocation.ts'
import { attachSession } from '../alloc/attach.ts'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { renderTable } from '../output/format.ts'
import { shellLine } from '@reeve/kit/shell-words.ts'
import { findJob } from './find-job.ts'

/** `job actions JOB`: lists the actions that the tasks of a job declare. */
export async function runJobActions(invocation: CommandContext): Promise<number> {
  const { args, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const actions = await actionsOf(invocation, { jobId: ID, namespace: Namespace })
  output.print(actions, () =>
    actions.length === 0
      ? `Job "${ID}" has no actions: an "action" block in a task declares one.`
      : renderTable(['Name', 'Group', 'Task', 'Command'], actions.map(actionRow)),
  )
  return EXIT_CODES.ok
}

function actionRow({ Name, TaskGroupName, TaskName, Command, Args }: JobAction): readonly string[] {
  return [Name, TaskGroupName, TaskName, shellLine([Command, ...(Args ?? [])])]
}

/** `job action JOB ACTION`: runs an action and exits with its exit code. */
export async function runJobAction(invocation: CommandContext): Promise<number> {
  const { args, client, signal } = invocation
  const [given = '', name = ''] = args
  const { ID, Namespace } = await findJob(invocation, given)
  const jobKey = { jobId: ID, namespace: Namespace }
  const action = resolveAction(await actionsOf(invocation, jobKey), { invocation, jobId: ID, name })
  const allocation = await allocationFor(invocation, jobKey, action)
  const query = {
    namespace: Namespace,
    action: name,
    task: action.TaskName,
    allocID: allocation.ID,
  }
  return await attachSession(invocation, (tty) =>
    client.v1.runJobAction({ params: { job_id: ID }, query: { ...query, tty }, signal }),
  )
}

interface JobKey {
  readonly jobId: string
  readonly namespace: string
}

async function actionsOf(
  { client, flags }: CommandContext,
  { jobId, namespace }: JobKey,
): Promise<readonly JobAction[]> {
  const params = { job_id: jobId }
  const { data } = await client.v1.listJobActions({ params, query: { namespace } })
  const [group, task] = [flags.string('group'), flags.string('task')]
  return data
    .filter(({ TaskGroupName }) => group === undefined || TaskGroupName === group)
    .filter(({ TaskName }) => task === undefined || TaskName === task)
}

interface ActionSearch {
  readonly invocation: CommandContext
  readonly jobId: string
  readonly name: string
}

function resolveAction(known: readonly JobAction[], { jobId, name }: ActionSearch): JobAction {
  const [first, ...others] = known.filter(({ Name }) => Name === name)
  if (first === undefined) {
    const names = [...new Set(known.map(({ Name }) => Name))]
    throw new CommandError(`Job "${jobId}" has no action "${name}".`, {
      code: EXIT_CODES.missing,
      hint: names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`,
    })
  }
  if (others.length === 0) return first
  const places = [first, ...others].map((one) => `${one.TaskGroupName}/${one.TaskName}`)
  throw new UsageError(
    `several tasks have the action "${name}" (${places.join(', ')}): name one with --group and --task.`,
  )
}

/** Returns the allocation of `--alloc`, or the newest running one of the group. */
async function allocationFor(
  invocation: CommandContext,
  { jobId, namespace }: JobKey,
  { TaskGroupName }: JobAction,
): Promise<Pick<AllocationStub, 'ID'>> {
  const { client, flags } = invocation
  const given = flags.string('alloc')
  if (given !== undefined) return await findAllocation(invocation, given)
  const { data } = await client.v1.listJobAllocations({
    params: { job_id: jobId },
    query: { namespace },
  })
  const running = data.filter(
    (one) => one.TaskGroup === TaskGroupName && one.ClientStatus === 'running',
  )
  const newest = running.toSorted((a, b) => b.CreateIndex - a.CreateIndex)[0]
  if (newest !== undefined) return newest
  throw new CommandError(`No allocation of group "${TaskGroupName}" of job "${jobId}" runs.`, {
    code: EXIT_CODES.missing,
    hint: `To see why: reeve job explain ${jobId}`,
  })
}
