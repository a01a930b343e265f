import { Fault } from '../../kit/fault.ts'
import type { TaskRunner } from '../task/task-runner.ts'

export interface AllocationRestart {
  /** One task, which must be running; empty: all that run. */
  readonly task: string
  /** Also those that have ended: the lifecycle starts over. */
  readonly allTasks: boolean
}

/**
 * What users do to the tasks of an allocation. Reference scheduling §24, User actions; the reasons
 * are reference workload §7.4's.
 */
export async function restartTasks(
  runners: readonly TaskRunner[],
  { task, allTasks }: AllocationRestart,
): Promise<void> {
  if (task !== '') {
    await getTask(runners, task).restart({ reason: 'User requested task to restart' })
    return
  }
  if (allTasks) {
    const reason = 'User requested all tasks to restart'
    await Promise.all(runners.map((runner) => runner.startOver(reason)))
    return
  }
  const reason = 'User requested running tasks to restart'
  const running = runners.filter((runner) => runner.state.State === 'running')
  await Promise.all(running.map((runner) => runner.restart({ reason })))
}

/** Signals one task, or with an empty name all that run. */
export async function signalTasks(
  runners: readonly TaskRunner[],
  { task, signal }: { readonly task: string; readonly signal: string },
): Promise<void> {
  if (task !== '') {
    await getTask(runners, task).signal(signal)
    return
  }
  const running = runners.filter((runner) => runner.state.State === 'running')
  if (running.length === 0) throw new Fault('task-not-running', 'no task is running')
  await Promise.all(running.map((runner) => runner.signal(signal)))
}

/** Fault `task-unknown` that names the tasks there are. */
export function getTask(runners: readonly TaskRunner[], name: string): TaskRunner {
  const found = runners.find((runner) => runner.name === name)
  if (found !== undefined) return found
  const known = runners.map((runner) => JSON.stringify(runner.name)).join(', ')
  throw new Fault('task-unknown', `unknown task name ${JSON.stringify(name)}; there is ${known}`)
}
