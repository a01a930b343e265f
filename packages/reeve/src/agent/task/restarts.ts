import { nsFromMs } from '@reeve/kit/duration.ts'
import type { AgentContext } from '../agent-context.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import { decideRestart, shouldRestartOnSuccess, type ExitCause } from './restart-policy.ts'
import type { TaskRecorder } from './task-recorder.ts'
import { DONE_STEP, type Step } from './task-state.ts'

/** How a task restarts after its process was killed on request. */
type RestartMode =
  /** Immediately, without using up an attempt. */
  | 'at-once'
  /** As after a failure: the restart policy decides. */
  | 'by-policy'
  /** When its schedule opens again, without using up an attempt. */
  | 'by-schedule'
  /** From its start gate, with the whole group. */
  | 'from-gate'

interface PendingRestart {
  readonly reason: string
  readonly mode: RestartMode
}

/**
 * Requested restarts that the runner has not processed yet. Requests before the kill are fulfilled
 * by the same kill; the mode with the highest precedence wins.
 */
export class PendingRestarts {
  #pending: PendingRestart | undefined
  #requested = Promise.withResolvers<void>()
  #completed = Promise.withResolvers<void>()

  /** Resolves at the next request, immediately if one is pending. */
  get requested(): Promise<void> {
    return this.#requested.promise
  }

  get pending(): PendingRestart | undefined {
    return this.#pending
  }

  /** Whether a pending request already covers this one. */
  isCovered(restart: PendingRestart): boolean {
    const pending = this.#pending
    return pending !== undefined && PRECEDENCE[restart.mode] <= PRECEDENCE[pending.mode]
  }

  /** Resolves when the old process has ended; rejects if it could not be killed. */
  request(restart: PendingRestart): Promise<void> {
    if (!this.isCovered(restart)) this.#pending = restart
    this.#requested.resolve()
    return this.#completed.promise
  }

  /** Resolves the request: the process has ended, or the task ends for good. */
  resolve(): void {
    const completed = this.#takePending()
    completed.resolve()
  }

  reject(cause: unknown): void {
    const completed = this.#takePending()
    // Not every caller awaits the result.
    completed.promise.catch(() => undefined)
    completed.reject(cause)
  }

  #takePending(): PromiseWithResolvers<void> {
    const completed = this.#completed
    this.#pending = undefined
    this.#requested = Promise.withResolvers<void>()
    this.#completed = Promise.withResolvers<void>()
    return completed
  }
}

const PRECEDENCE = {
  'by-policy': 0,
  'by-schedule': 1,
  'at-once': 2,
  'from-gate': 3,
} as const satisfies Record<RestartMode, number>

/** Restarts a task whose process was killed for a request that leaves the restart policy out. */
export function restartOnRequest(recorder: TaskRecorder, { reason, mode }: PendingRestart): Step {
  if (mode !== 'by-schedule')
    recorder.emitEvent('Restarting', { RestartReason: reason, StartDelay: 0 })
  recorder.setState('pending')
  return mode === 'from-gate' ? { at: 'gate' } : { at: 'delay', delayMs: 0 }
}

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
