import { PAUSE_STATES, type PauseState } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { watchEvaluation } from '../eval/wait-for-evaluation.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { shortenId } from '../output/format.ts'
import {
  allocationRequest,
  resolveTask,
  findAllocation,
  type AllocationStub,
} from './find-allocation.ts'

const DEFAULT_SIGNAL = 'SIGKILL'

export async function runAllocSignal(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const Task = optionalTask(invocation, allocation)
  const Signal = flags.string('signal') ?? DEFAULT_SIGNAL
  await client.v1.signalAllocation({ ...allocationRequest(allocation), body: { Signal, Task } })
  output.printLine(`${Signal} was sent to ${describeTarget(allocation, Task)}.`)
  return EXIT_CODES.ok
}

export async function runAllocRestart(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const TaskName = optionalTask(invocation, allocation)
  const AllTasks = flags.has('all-tasks')
  await client.v1.restartAllocation({
    ...allocationRequest(allocation),
    body: { TaskName, AllTasks },
  })
  output.printLine(`Restarted ${describeTarget(allocation, TaskName)} in place.`)
  return EXIT_CODES.ok
}

export async function runAllocPause(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const requestedState = flags.string('state') ?? 'pause'
  const state = PAUSE_STATES.find((known) => known === requestedState)
  if (state === undefined)
    throw new UsageError(
      `--state must be one of ${PAUSE_STATES.join(', ')}, not "${requestedState}".`,
    )
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const { params, query } = allocationRequest(allocation)
  const Task = resolveTask(allocation, flags.string('task') ?? args[1])
  if (flags.has('status')) {
    const { data } = await client.v1.readAllocationPause({
      params,
      query: { ...query, task: Task },
    })
    output.printLine(data.ScheduleState)
    return EXIT_CODES.ok
  }
  await client.v1.pauseAllocation({ params, query, body: { Task, ScheduleState: state } })
  output.printLine(PAUSE_TEXTS[state](describeTarget(allocation, Task)))
  return EXIT_CODES.ok
}

const PAUSE_TEXTS = {
  pause: (task) => `Paused ${task}. Use "--state scheduled" to give it back to its schedule.`,
  run: (task) => `Running ${task} regardless of its schedule.`,
  scheduled: (task) => `Gave ${task} back to its schedule.`,
} as const satisfies Record<PauseState, (task: string) => string>

/** Returns the given task; an empty string stands for all tasks in the API. */
function optionalTask({ args, flags }: CommandContext, allocation: AllocationStub): string {
  const given = flags.string('task') ?? args[1]
  return given === undefined ? '' : resolveTask(allocation, given)
}

function describeTarget({ ID, Name }: AllocationStub, task: string): string {
  const where = `allocation ${shortenId(ID)} (${Name})`
  return task === '' ? `the tasks of ${where}` : `task "${task}" of ${where}`
}

export async function runAllocStop(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const allocation = await findAllocation(invocation, args[0] ?? '')
  const { params, query } = allocationRequest(allocation)
  const { data } = await client.v1.stopAllocation({
    params,
    query: { ...query, no_shutdown_delay: flags.isNegated('shutdown-delay') },
  })
  const evaluation = { id: data.EvalID, namespace: allocation.Namespace }
  output.printLine(
    `Allocation ${shortenId(allocation.ID)} (${allocation.Name}) is being stopped ` +
      `(evaluation ${shortenId(evaluation.id)}).`,
  )
  if (flags.has('detach')) return EXIT_CODES.ok
  return await watchEvaluation(invocation, evaluation)
}
