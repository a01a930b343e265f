import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import type { TaskRunner } from '../task/task-runner.ts'

export interface AllocationRestart {
  /** One task, which must be running; empty for all running tasks. */
  readonly task: string
  /** Restarts ended tasks too: the lifecycle starts over. */
  readonly allTasks: boolean
}

type RestartableTask = Pick<TaskRunner, 'name' | 'state' | 'restart' | 'restartFromGate'>

/** Restarts tasks on behalf of a user. */
export async function restartTasks(
  runners: readonly RestartableTask[],
  { task: taskName, allTasks }: AllocationRestart,
): Promise<void> {
  if (taskName !== '') {
    await getTask(runners, taskName).restart({ reason: 'User requested task to restart' })
    return
  }
  if (allTasks) {
    const reason = 'User requested all tasks to restart'
    await restartEach(runners, (runner) => runner.restartFromGate(reason))
    return
  }
  const reason = 'User requested running tasks to restart'
  const running = runners.filter((runner) => runner.state.State === 'running')
  await restartEach(running, async (runner) => {
    await runner.restart({ reason }).catch((thrown: unknown) => {
      // The task has ended meanwhile; tasks that are not running are skipped.
      if (!(thrown instanceof Fault) || thrown.kind !== 'task-not-running') throw thrown
    })
  })
}

/** Tries every task and reports all failures. */
async function restartEach(
  runners: readonly RestartableTask[],
  restartOne: (runner: RestartableTask) => Promise<void>,
): Promise<void> {
  const results = await Promise.allSettled(runners.map(restartOne))
  const problems = results.flatMap((result, index) => {
    if (result.status === 'fulfilled') return []
    return `failed to restart task ${runners[index]?.name}: ${errorMessage(result.reason)}`
  })
  if (problems.length > 0) throw new Fault('task-restart', formatMultiError(problems))
}

/** Signals one task, or all running tasks if the name is empty. */
export async function signalTasks(
  runners: readonly TaskRunner[],
  { taskName, signal }: { readonly taskName: string; readonly signal: string },
): Promise<void> {
  if (taskName !== '') {
    await getTask(runners, taskName).signal(signal)
    return
  }
  const running = runners.filter((runner) => runner.state.State === 'running')
  if (running.length === 0) throw new Fault('task-not-running', 'no task is running')
  await Promise.all(running.map((runner) => runner.signal(signal)))
}

/** Returns the runner. Fault `task-unknown` that lists the existing tasks. */
export function getTask<Runner extends Pick<TaskRunner, 'name'>>(
  runners: readonly Runner[],
  name: string,
): Runner {
  const match = runners.find((runner) => runner.name === name)
  if (match !== undefined) return match
  const names = runners.map((runner) => JSON.stringify(runner.name)).join(', ')
  throw new Fault('task-unknown', `unknown task name ${JSON.stringify(name)}; there is ${names}`)
}
