import { PAUSE_STATES, type PauseState } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { watchEvaluation } from '../eval/settled-evaluation.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
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

export async function runAllocPause(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const wanted = flags.text('state') ?? 'pause'
  const state = PAUSE_STATES.find((known) => known === wanted)
  if (state === undefined)
    throw new UsageError(`--state must be one of ${PAUSE_STATES.join(', ')}, not "${wanted}".`)
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const { params, query } = callFor(allocation)
  const Task = chosenTask(allocation, flags.text('task') ?? args[1])
  if (flags.has('status')) {
    const { data } = await client.v1.readAllocationPause({
      params,
      query: { ...query, task: Task },
    })
    output.say(data.ScheduleState)
    return EXIT_CODES.ok
  }
  await client.v1.pauseAllocation({ params, query, body: { Task, ScheduleState: state } })
  output.say(PAUSE_TEXTS[state](whom(allocation, Task)))
  return EXIT_CODES.ok
}

const PAUSE_TEXTS = {
  pause: (task) => `Paused ${task}. Use "--state scheduled" to give it back to its schedule.`,
  run: (task) => `Running ${task} regardless of its schedule.`,
  scheduled: (task) => `Gave ${task} back to its schedule.`,
} as const satisfies Record<PauseState, (task: string) => string>

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
