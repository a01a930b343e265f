import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { TaskControl } from '../task/task-control.ts'
import type { ExecRequest, ExecSession } from '../task-session.ts'
import { sleep } from '../wait.ts'

/**
 * Runs a command in a task. A restarted agent knows that a task is running before it has
 * re-attached to it: wait for that, within limits. Rejects with a Fault `task-not-running` if the
 * task does not run.
 */
export async function execWhenAttached(
  task: Pick<TaskControl, 'state' | 'exec'>,
  request: ExecRequest,
  clock: Clock,
): Promise<ExecSession> {
  const deadlineMs = clock.monotonicMs() + AGENT_LIMITS.reattachTimeoutMs
  for (;;) {
    try {
      return await task.exec(request)
    } catch (thrown) {
      const isUnattached = isNotRunning(thrown) && task.state.State === 'running'
      if (!isUnattached || clock.monotonicMs() >= deadlineMs) throw thrown
    }
    await sleep(clock, AGENT_LIMITS.reattachPollIntervalMs)
  }
}

export function isNotRunning(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.kind === 'task-not-running'
}
