import type { PauseState, TaskEventType, TaskState } from '@reeve/contract'
import type { TaskRecord } from '../store/store.ts'
import type { ExecRequest, ExecSession, TaskUsage } from '../task-session.ts'
import type { TaskEventFields } from './task-event.ts'

/** What others may do with one task of this node: users through the servers, checks, templates. */
export interface TaskControl {
  readonly name: string
  readonly state: TaskState
  /** What is saved of it. */
  readonly record: Pick<TaskRecord, 'handle' | 'state'>
  /**
   * Ends the process and starts the task again; resolves when the old process has ended. Fault
   * `task-not-running` when there is none.
   */
  restart(request: RestartRequest): Promise<void>
  /**
   * Sends a signal to the task. Faults `task-not-running`, and `task-signal` when there is no such
   * signal.
   */
  signal(name: string, reason?: string): Promise<void>
  /** Runs a command beside the task, in its world. Fault `task-not-running`. */
  exec(request: ExecRequest): Promise<ExecSession>
  /** What the task uses right now; undefined while it does not run. */
  usage(): Promise<TaskUsage | undefined>
  /** Ends the task for good; resolves when it is dead. A second request changes nothing. */
  kill(request: KillRequest): Promise<void>
  /**
   * Pauses the task, runs it outside its schedule, or gives it back to its schedule; resolves when
   * that is durable. Faults `task-not-running` when the task has ended, `task-unscheduled` when it
   * has no schedule.
   */
  overrideSchedule(wanted: PauseState): Promise<void>
  /** Adds an event. */
  tell(type: TaskEventType, message: string, fields?: TaskEventFields): void
}

export interface RestartRequest {
  /** Why, for the event `Restart Signaled`. */
  readonly reason: string
  /**
   * True: counts as a failure of the task, so the policy decides whether and when it starts again.
   * Otherwise it starts at once, and no attempt is used up.
   */
  readonly withDelay?: boolean
}

export interface KillRequest {
  /** What is said before `Killing`: that a sibling failed, that the leader ended. */
  readonly cause?: { readonly type: TaskEventType; readonly fields?: TaskEventFields }
  /** Why the servers want it; empty when they did not say. */
  readonly reason: string
  readonly skipShutdownDelay: boolean
}
