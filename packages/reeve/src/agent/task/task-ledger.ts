import type { TaskEvent, TaskEventType, TaskState } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import type { Log } from '../log.ts'
import type { TaskRecord } from '../store/store.ts'
import { FRESH_TRACKER } from './restart-policy.ts'
import { taskEvent, type TaskEventFields } from './task-event.ts'
import { freshTaskState, moved, withEvent, type Pausing } from './task-state.ts'

interface TaskLedgerOptions {
  readonly clock: Clock
  /** What was saved by an agent before this one. */
  readonly record: TaskRecord | undefined
  /** Called after every change. */
  changed(): void
  readonly log: Pick<Log, 'debug'>
  /** Names the task in the log. */
  readonly about: { readonly allocation: string; readonly task: string }
}

/** The record of one task, and the only place that changes it. */
export class TaskLedger {
  readonly #options: TaskLedgerOptions
  #record: TaskRecord

  constructor(options: TaskLedgerOptions) {
    this.#options = options
    this.#record = options.record ?? FRESH_RECORD
    if (options.record === undefined) this.note('Received')
  }

  get record(): TaskRecord {
    return this.#record
  }

  get state(): TaskState {
    return this.#record.state
  }

  /** Adds an event of now. */
  note(type: TaskEventType, fields?: TaskEventFields): void {
    this.append(taskEvent(type, this.#options.clock.nowMs(), fields))
  }

  append(event: TaskEvent): void {
    const { log, about } = this.#options
    log.debug({ ...about, event: event.Type, says: event.DisplayMessage }, 'task event')
    this.change({ state: withEvent(this.#record.state, event) })
  }

  move(to: TaskState['State'], atMs = this.#options.clock.nowMs()): void {
    this.change({ state: moved(this.#record.state, to, atMs) })
  }

  started(): void {
    this.move('running')
    this.note('Started')
  }

  /**
   * Why the task is paused, or that a user runs it regardless of its schedule. The event is added
   * only for a change: an agent that takes over a paused task adds none.
   */
  setPaused(
    paused: Pausing,
    event?: { readonly type: 'Pausing' | 'Running'; readonly message: string },
  ): void {
    if (this.#record.state.Paused === paused) return
    this.change({ state: { ...this.#record.state, Paused: paused } })
    if (event !== undefined) this.note(event.type, { Message: event.message })
  }

  /** A dead task lives again: what it failed at before is forgiven. */
  revive(reason: string): void {
    this.note('Restarting', { RestartReason: reason, StartDelay: 0 })
    const state = moved(this.#record.state, 'pending', this.#options.clock.nowMs())
    const alive = { ...state, Failed: false, FinishedAt: ZERO_TIME }
    this.change({ state: alive, restarts: FRESH_TRACKER })
  }

  change(part: Partial<TaskRecord>): void {
    this.#record = { ...this.#record, ...part }
    this.#options.changed()
  }
}

const FRESH_RECORD: TaskRecord = {
  state: freshTaskState(),
  attempt: 0,
  handle: null,
  restarts: FRESH_TRACKER,
  hooksDone: [],
}
