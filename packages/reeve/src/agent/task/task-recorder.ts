import type { TaskEvent, TaskEventType, TaskState } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import type { Logger } from '../log.ts'
import type { TaskRecord } from '../store/agent-store.ts'
import { INITIAL_TRACKER } from './restart-policy.ts'
import { taskEvent, type TaskEventFields } from './task-event.ts'
import { ZERO_TASK_STATE } from '../../model/index.ts'
import { transitionTo, appendEvent, type PausedValue } from './task-state.ts'

interface TaskRecorderOptions {
  readonly clock: Clock
  /** Record saved by the previous agent. */
  readonly savedRecord: TaskRecord | undefined
  /** Called after every change. */
  onChange(): void
  readonly log: Pick<Logger, 'debug'>
  /** Identifies the task in the log. */
  readonly logFields: { readonly allocation: string; readonly task: string }
}

/** The record of one task. All changes go through this class. */
export class TaskRecorder {
  readonly #options: TaskRecorderOptions
  #record: TaskRecord

  constructor(options: TaskRecorderOptions) {
    this.#options = options
    this.#record = options.savedRecord ?? INITIAL_RECORD
    if (options.savedRecord === undefined) this.emitEvent('Received')
  }

  get record(): TaskRecord {
    return this.#record
  }

  get state(): TaskState {
    return this.#record.state
  }

  /** Appends an event with the current time. */
  emitEvent(type: TaskEventType, fields?: TaskEventFields): void {
    this.appendEvent(taskEvent(type, this.#options.clock.nowMs(), fields))
  }

  appendEvent(event: TaskEvent): void {
    const { log, logFields } = this.#options
    log.debug({ ...logFields, event: event.Type, says: event.DisplayMessage }, 'task event')
    this.patch({ state: appendEvent(this.#record.state, event) })
  }

  setState(stateName: TaskState['State'], atMs = this.#options.clock.nowMs()): void {
    this.patch({ state: transitionTo(this.#record.state, stateName, atMs) })
  }

  markStarted(): void {
    this.setState('running')
    this.emitEvent('Started')
  }

  /**
   * Sets why the task is paused, or that a user runs it regardless of its schedule. The event is
   * added only for a change: an agent that recovers a paused task adds none.
   */
  setPaused(
    paused: PausedValue,
    event?: { readonly type: 'Pausing' | 'Running'; readonly message: string },
  ): void {
    if (this.#record.state.Paused === paused) return
    this.patch({ state: { ...this.#record.state, Paused: paused } })
    if (event !== undefined) this.emitEvent(event.type, { Message: event.message })
  }

  /** Resets a dead task for a restart; earlier failures no longer count. */
  resetForRestart(reason: string): void {
    this.emitEvent('Restarting', { RestartReason: reason, StartDelay: 0 })
    const state = transitionTo(this.#record.state, 'pending', this.#options.clock.nowMs())
    const restarted = { ...state, Failed: false, FinishedAt: ZERO_TIME }
    this.patch({ state: restarted, restarts: INITIAL_TRACKER })
  }

  patch(part: Partial<TaskRecord>): void {
    this.#record = { ...this.#record, ...part }
    this.#options.onChange()
  }
}

const INITIAL_RECORD: TaskRecord = {
  state: ZERO_TASK_STATE,
  attempt: 0,
  handle: null,
  restarts: INITIAL_TRACKER,
  hooksDone: [],
}
