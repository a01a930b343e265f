import type { Invocation } from '../command.ts'
import { watchEvaluation } from '../eval/settled-evaluation.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortId } from '../output/table.ts'
import { callFor, chosenTask, findAllocation, type AllocationStub } from './find-allocation.ts'

const SIGNAL_DEFAULT = 'SIGKILL'

export async function runAllocSignal(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const Task = namedTask(invocation, allocation)
  const Signal = flags.text('signal') ?? SIGNAL_DEFAULT
  await client.v1.signalAllocation({ ...callFor(allocation), body: { Signal, Task } })
  output.say(`${Signal} was sent to ${whom(allocation, Task)}.`)
  return EXIT_CODES.ok
}

export async function runAllocRestart(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const TaskName = namedTask(invocation, allocation)
  const AllTasks = flags.has('all-tasks')
  await client.v1.restartAllocation({ ...callFor(allocation), body: { TaskName, AllTasks } })
  output.say(`Restarted ${whom(allocation, TaskName)} in place.`)
  return EXIT_CODES.ok
}

/** Empty for every task: the servers take that for all of them. */
function namedTask({ args, flags }: Invocation, allocation: AllocationStub): string {
  const given = flags.text('task') ?? args[1]
  return given === undefined ? '' : chosenTask(allocation, given)
}

function whom({ ID, Name }: AllocationStub, task: string): string {
  const where = `allocation ${shortId(ID)} (${Name})`
  return task === '' ? `the tasks of ${where}` : `task "${task}" of ${where}`
}

export async function runAllocStop(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const { params, query } = callFor(allocation)
  const { data } = await client.v1.stopAllocation({
    params,
    query: { ...query, no_shutdown_delay: flags.isOff('shutdown-delay') },
  })
  const evaluation = { id: data.EvalID, namespace: allocation.Namespace }
  output.say(
    `Allocation ${shortId(allocation.ID)} (${allocation.Name}) is being stopped ` +
      `(evaluation ${shortId(evaluation.id)}).`,
  )
  if (flags.has('detach')) return EXIT_CODES.ok
  return await watchEvaluation(invocation, evaluation)
}
