import type { AllocationPauseState, PauseState } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import type { AllocationRunner } from '../allocation/allocation-runner.ts'
import type { TaskControl } from '../task/task-control.ts'
import { overrideOf } from '../task/task-state.ts'
import { RemoteRefusal } from './remote-refusal.ts'

type AllocationTasks = Pick<AllocationRunner, 'tasks' | 'restart'>

/** Signals one task, or all running tasks if the name is empty. */
export async function signalTasks(
  allocation: AllocationTasks,
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
  if (running.length === 0) throw notRunningRefusal()
  const problems: string[] = []
  for (const task of running)
    await task.signal(signal).catch((thrown: unknown) => {
      const { message } = signalRefusal(thrown, signal)
      problems.push(`Failed to signal task: ${task.name}, err: ${message}`)
    })
  if (problems.length > 0) throw new RemoteRefusal(400, formatMultiError(problems))
}

function signalRefusal(thrown: unknown, signal: string): RemoteRefusal {
  switch (faultKindOf(thrown)) {
    case 'task-not-running':
    case 'task-gone':
      return notRunningRefusal(thrown)
    case 'task-signal':
      return new RemoteRefusal(400, `unknown signal ${JSON.stringify(signal)}`, {
        code: 'signal-unknown',
        cause: thrown,
      })
    default:
      return new RemoteRefusal(500, errorMessage(thrown), { cause: thrown })
  }
}

/** Restarts one task, all running ones, or all including those that have ended. */
export async function restartTasks(
  allocation: AllocationTasks,
  { task, allTasks }: { readonly task: string; readonly allTasks: boolean },
): Promise<void> {
  if (task !== '' && findTask(allocation, task) === undefined)
    throw new RemoteRefusal(400, `Could not find task runner for task: ${task}`)
  try {
    await allocation.restart({ task, allTasks })
  } catch (thrown) {
    switch (faultKindOf(thrown)) {
      case 'allocation-ended':
        throw new RemoteRefusal(400, 'restart of an alloc that should not run', { cause: thrown })
      case 'task-not-running':
        throw notRunningRefusal(thrown)
      default:
        throw new RemoteRefusal(500, errorMessage(thrown), { cause: thrown })
    }
  }
}

export function readScheduleState(allocation: AllocationTasks, task: string): AllocationPauseState {
  return { ScheduleState: overrideOf(requireTask(allocation, task).state) }
}

export async function setScheduleState(
  allocation: AllocationTasks,
  { task: name, state }: { readonly task: string; readonly state: PauseState },
): Promise<void> {
  const task = requireTask(allocation, name)
  try {
    await task.overrideSchedule(state)
  } catch (thrown) {
    const quotedName = JSON.stringify(name)
    switch (faultKindOf(thrown)) {
      case 'task-not-running':
        throw new RemoteRefusal(400, `task ${quotedName} has ended`, { cause: thrown })
      case 'task-unscheduled': {
        const reason = 'has no schedule block; only scheduled tasks can be paused and resumed'
        throw new RemoteRefusal(400, `task ${quotedName} ${reason}`, { cause: thrown })
      }
      default:
        throw new RemoteRefusal(500, errorMessage(thrown), { cause: thrown })
    }
  }
}

function requireTask(allocation: AllocationTasks, name: string): TaskControl {
  const found = findTask(allocation, name)
  if (found !== undefined) return found
  throw new RemoteRefusal(400, `unknown task name ${JSON.stringify(name)}`)
}

export function findTask(
  { tasks }: Pick<AllocationTasks, 'tasks'>,
  taskName: string,
): TaskControl | undefined {
  return tasks.find((task) => task.name === taskName)
}

function faultKindOf(thrown: unknown): string {
  return thrown instanceof Fault ? thrown.kind : ''
}

function notRunningRefusal(cause?: unknown): RemoteRefusal {
  return new RemoteRefusal(400, 'Task not running', { code: 'task-not-running', cause })
}
