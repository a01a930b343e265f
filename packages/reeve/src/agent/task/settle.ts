import { nsFromMs } from '@reeve/kit/duration.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { AgentContext } from '../host.ts'
import { decideRestart, shouldRestartOnSuccess, type ExitCause } from './restart-policy.ts'
import type { TaskRecorder } from './task-ledger.ts'
import { DONE_STEP, type Step } from './task-step.ts'

interface ExitedTask {
  readonly agent: Pick<AgentContext, 'clock' | 'random'>
  readonly assignment: Assignment
  readonly task: AgentTask
  readonly cause: ExitCause
}

/** Applies the restart policy after a run ended by itself, and returns the next step. */
export function applyRestartPolicy(
  recorder: TaskRecorder,
  { agent, assignment, task, cause }: ExitedTask,
): Step {
  const { tracker, decide } = decideRestart({
    policy: task.RestartPolicy,
    tracker: recorder.record.restarts,
    cause,
    restartsOnSuccess: shouldRestartOnSuccess(assignment.job.Type, task.Lifecycle),
    nowMs: agent.clock.nowMs(),
    random: agent.random.next(),
  })
  recorder.patch({ restarts: tracker })
  if (decide.kind === 'restart') {
    const { reason, delayMs } = decide
    recorder.emitEvent('Restarting', { RestartReason: reason, StartDelay: nsFromMs(delayMs) })
    recorder.setState('pending')
    return { at: 'delay', delayMs }
  }
  if (decide.kind === 'failed') {
    recorder.emitEvent('Not Restarting', { RestartReason: decide.reason, FailsTask: true })
  }
  recorder.setState('dead', cause.kind === 'exited' ? cause.exit.atMs : undefined)
  return DONE_STEP
}
