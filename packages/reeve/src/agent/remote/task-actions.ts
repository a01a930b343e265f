import type { AllocationPauseState, PauseState } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import type { AllocationRunner } from '../allocation/allocation-runner.ts'
import type { TaskControl } from '../task/task-control.ts'
import { overrideOf } from '../task/task-state.ts'
import { RemoteRefusal } from './remote-refusal.ts'

type Tasks = Pick<AllocationRunner, 'tasks' | 'restart'>

/** One task, or with an empty name every one that runs. */
export async function signalTasks(
  allocation: Tasks,
  { task: name, signal }: { readonly task: string; readonly signal: string },
): Promise<void> {
  if (name !== '') {
    const task = findTask(allocation, name)
    if (task === undefined) throw new RemoteRefusal(400, 'Task not found')
    await task.signal(signal).catch((thrown: unknown) => {
      throw signalRefusal(thrown, signal)
    })
    return
  }
  const running = allocation.tasks.filter((task) => task.state.State === 'running')
  if (running.length === 0) throw notRunning()
  const problems: string[] = []
  for (const task of running)
    await task.signal(signal).catch((thrown: unknown) => {
      const { message } = signalRefusal(thrown, signal)
      problems.push(`Failed to signal task: ${task.name}, err: ${message}`)
    })
  if (problems.length > 0) throw new RemoteRefusal(400, formatMultiError(problems))
}

function signalRefusal(thrown: unknown, signal: string): RemoteRefusal {
  switch (kindOf(thrown)) {
    case 'task-not-running':
    case 'task-gone':
      return notRunning(thrown)
    case 'task-signal':
      return new RemoteRefusal(400, `unknown signal ${JSON.stringify(signal)}`, {
        code: 'signal-unknown',
        cause: thrown,
      })
    default:
      return new RemoteRefusal(500, errorMessage(thrown), { cause: thrown })
  }
}

/** One task, all that run, or all with those that have ended. */
export async function restartTasks(
  allocation: Tasks,
  { task, allTasks }: { readonly task: string; readonly allTasks: boolean },
): Promise<void> {
  if (task !== '' && findTask(allocation, task) === undefined)
    throw new RemoteRefusal(400, `Could not find task runner for task: ${task}`)
  try {
    await allocation.restart({ task, allTasks })
  } catch (thrown) {
    switch (kindOf(thrown)) {
      case 'allocation-ended':
        throw new RemoteRefusal(400, 'restart of an alloc that should not run', { cause: thrown })
      case 'task-not-running':
        throw notRunning(thrown)
      default:
        throw new RemoteRefusal(500, errorMessage(thrown), { cause: thrown })
    }
  }
}

export function readScheduleState(allocation: Tasks, task: string): AllocationPauseState {
  return { ScheduleState: overrideOf(getTask(allocation, task).state) }
}

export async function setScheduleState(
  allocation: Tasks,
  { task: name, state }: { readonly task: string; readonly state: PauseState },
): Promise<void> {
  const task = getTask(allocation, name)
  try {
    await task.overrideSchedule(state)
  } catch (thrown) {
    const quoted = JSON.stringify(name)
    switch (kindOf(thrown)) {
      case 'task-not-running':
        throw new RemoteRefusal(400, `task ${quoted} has ended`, { cause: thrown })
      case 'task-unscheduled': {
        const why = 'has no schedule block; only scheduled tasks can be paused and resumed'
        throw new RemoteRefusal(400, `task ${quoted} ${why}`, { cause: thrown })
      }
      default:
        throw new RemoteRefusal(500, errorMessage(thrown), { cause: thrown })
    }
  }
}

function getTask(allocation: Tasks, name: string): TaskControl {
  const found = findTask(allocation, name)
  if (found !== undefined) return found
  throw new RemoteRefusal(400, `unknown task name ${JSON.stringify(name)}`)
}

export function findTask({ tasks }: Pick<Tasks, 'tasks'>, name: string): TaskControl | undefined {
  return tasks.find((task) => task.name === name)
}

function kindOf(thrown: unknown): string {
  return thrown instanceof Fault ? thrown.kind : ''
}

function notRunning(cause?: unknown): RemoteRefusal {
  return new RemoteRefusal(400, 'Task not running', { code: 'task-not-running', cause })
}
