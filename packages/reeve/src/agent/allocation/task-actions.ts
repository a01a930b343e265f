import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import type { TaskRunner } from '../task/task-runner.ts'

export interface AllocationRestart {
  /** One task, which must be running; empty: all that run. */
  readonly task: string
  /** Also those that have ended: the lifecycle starts over. */
  readonly allTasks: boolean
}

type Restartable = Pick<TaskRunner, 'name' | 'state' | 'restart' | 'startOver'>

/** What users do to the tasks of an allocation. */
export async function restartTasks(
  runners: readonly Restartable[],
  { task, allTasks }: AllocationRestart,
): Promise<void> {
  if (task !== '') {
    await getTask(runners, task).restart({ reason: 'User requested task to restart' })
    return
  }
  if (allTasks) {
    const reason = 'User requested all tasks to restart'
    await restartEach(runners, (runner) => runner.startOver(reason))
    return
  }
  const reason = 'User requested running tasks to restart'
  const running = runners.filter((runner) => runner.state.State === 'running')
  await restartEach(running, async (runner) => {
    await runner.restart({ reason }).catch((thrown: unknown) => {
      // It has ended meanwhile: those that do not run are passed over.
      if (!(thrown instanceof Fault) || thrown.kind !== 'task-not-running') throw thrown
    })
  })
}

/** Every task is tried, and each that failed is told. */
async function restartEach(
  runners: readonly Restartable[],
  restart: (runner: Restartable) => Promise<void>,
): Promise<void> {
  const results = await Promise.allSettled(runners.map(restart))
  const problems = results.flatMap((result, index) => {
    if (result.status === 'fulfilled') return []
    return `failed to restart task ${runners[index]?.name}: ${errorMessage(result.reason)}`
  })
  if (problems.length > 0) throw new Fault('task-restart', formatMultiError(problems))
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
export function getTask<Runner extends Pick<TaskRunner, 'name'>>(
  runners: readonly Runner[],
  name: string,
): Runner {
  const found = runners.find((runner) => runner.name === name)
  if (found !== undefined) return found
  const known = runners.map((runner) => JSON.stringify(runner.name)).join(', ')
  throw new Fault('task-unknown', `unknown task name ${JSON.stringify(name)}; there is ${known}`)
}
