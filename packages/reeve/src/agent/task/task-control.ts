import type { PauseState, TaskEventType, TaskState } from '@reeve/contract'
import type { TaskRecord } from '../store/agent-store.ts'
import type { ExecRequest, ExecSession, TaskUsage } from '../driver.ts'
import type { TaskEventFields } from './task-event.ts'

/** Operations on one task for users, checks and templates. */
export interface TaskControl {
  readonly name: string
  readonly state: TaskState
  /** The saved record. */
  readonly record: Pick<TaskRecord, 'handle' | 'state'>
  /**
   * Kills the process and starts the task again; resolves when the old process has ended. Fault
   * `task-not-running` if there is none.
   */
  restart(request: RestartRequest): Promise<void>
  /**
   * Sends a signal to the task. Faults `task-not-running`, and `task-signal` when there is no such
   * signal.
   */
  signal(name: string, reason?: string): Promise<void>
  /** Runs a command in the environment of the task. Fault `task-not-running`. */
  exec(request: ExecRequest): Promise<ExecSession>
  /** Current resource usage; undefined while the task is not running. */
  usage(): Promise<TaskUsage | undefined>
  /** Kills the task for good; resolves when it is dead. Idempotent. */
  kill(request: KillRequest): Promise<void>
  /**
   * Pauses the task, runs it regardless of its schedule, or returns it to its schedule; resolves
   * when that is durable. Faults `task-not-running` if the task has ended, `task-unscheduled` if it
   * has no schedule.
   */
  overrideSchedule(pauseState: PauseState): Promise<void>
  /** Adds an event to the task. */
  addEvent(type: TaskEventType, message: string, fields?: TaskEventFields): void
}

export interface RestartRequest {
  /** Reason for the event `Restart Signaled`. */
  readonly reason: string
  /**
   * True: counts as a failure, so the restart policy decides when the task starts again. Otherwise
   * it starts immediately and no attempt is used up.
   */
  readonly usesRestartPolicy?: boolean
}

export interface KillRequest {
  /** Event before `Killing`, such as a failed sibling. */
  readonly cause?: { readonly type: TaskEventType; readonly fields?: TaskEventFields }
  /** Reason from the servers; empty if there is none. */
  readonly reason: string
  readonly skipShutdownDelay: boolean
}
