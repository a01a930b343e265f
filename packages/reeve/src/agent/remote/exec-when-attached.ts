import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { TaskControl } from '../task/task-control.ts'
import type { ExecRequest, ExecSession } from '../task-session.ts'
import { pause } from '../wait.ts'

/**
 * Runs a command in a task. An agent that has just come back knows that its tasks run before it has
 * found them again: whoever asks meanwhile waits for that, within limits. Rejects with a Fault
 * `task-not-running` when the task does not run.
 */
export async function execWhenAttached(
  task: Pick<TaskControl, 'state' | 'exec'>,
  request: ExecRequest,
  clock: Clock,
): Promise<ExecSession> {
  const untilMs = clock.monotonicMs() + AGENT_LIMITS.reattachMsMax
  for (;;) {
    try {
      return await task.exec(request)
    } catch (thrown) {
      const isUnattached = isNotRunning(thrown) && task.state.State === 'running'
      if (!isUnattached || clock.monotonicMs() >= untilMs) throw thrown
    }
    await pause(clock, AGENT_LIMITS.reattachLookMs)
  }
}

export function isNotRunning(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.kind === 'task-not-running'
}
