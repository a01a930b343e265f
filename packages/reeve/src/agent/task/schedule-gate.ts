import type { PauseState, TaskSchedule } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { isEqual, scheduleWindow, type ScheduleWindow } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { sleep } from '../timing.ts'
import type { TaskRecorder } from './task-recorder.ts'
import { overrideOf } from './task-state.ts'

const timeZoneOffsetAt = createTimeZoneOffset()

const ALWAYS_OPEN: ScheduleWindow = { isOpen: true, nextChangeMs: undefined }
const ALWAYS_CLOSED: ScheduleWindow = { isOpen: false, nextChangeMs: undefined }

/**
 * The `schedule` block of a task: holds the task back outside its windows and reports when one
 * closes. A user may override the schedule; the override is kept in the task's state (`Paused`), so
 * it outlives the agent. A task without the block is never held back. The servers are not asked, so
 * a schedule is followed also while none can be reached.
 */
export class ScheduleGate {
  readonly #clock: Clock
  readonly #recorder: TaskRecorder
  readonly #waiters = new Set<() => void>()
  #schedule: TaskSchedule | null

  constructor(clock: Clock, ledger: TaskRecorder, schedule: TaskSchedule | null | undefined) {
    this.#clock = clock
    this.#recorder = ledger
    this.#schedule = schedule ?? null
  }

  /** The job changed: every wait is evaluated again. An override ends with its schedule. */
  update(schedule: TaskSchedule | null | undefined): void {
    if (isEqual(schedule ?? null, this.#schedule)) return
    this.#schedule = schedule ?? null
    if (this.#schedule === null) this.#recorder.setPaused('')
    this.#wakeWaiters()
  }

  /**
   * Faults `task-not-running` when the task has ended, `task-unscheduled` when it has no schedule
   * to override.
   */
  override(pauseState: PauseState): void {
    if (this.#recorder.state.State === 'dead')
      throw new Fault('task-not-running', 'the task has ended')
    if (this.#schedule === null)
      throw new Fault('task-unscheduled', 'the task has no schedule block that could be overridden')
    if (pauseState === overrideOf(this.#recorder.state)) return
    switch (pauseState) {
      case 'pause':
        this.#recorder.setPaused('force_pause', { type: 'Pausing', message: 'Paused by a user' })
        break
      case 'run':
        this.#recorder.setPaused('force_run', { type: 'Running', message: FORCED_RUN_MESSAGE })
        break
      case 'scheduled':
        this.#resumeSchedule()
    }
    this.#wakeWaiters()
  }

  #resumeSchedule(): void {
    const window = this.#scheduledWindow()
    if (window.isOpen)
      this.#recorder.setPaused('', { type: 'Running', message: SCHEDULE_RESUMED_MESSAGE })
    else
      this.#recorder.setPaused('scheduled_pause', {
        type: 'Pausing',
        message: pausedMessage(window),
      })
  }

  /**
   * Resolves when the task may run, or when one of the others settles. The task is shown as paused
   * meanwhile.
   */
  async waitUntilOpen(interruptions: readonly Promise<unknown>[]): Promise<void> {
    const stopWaiting = new AbortController()
    const interrupt = (): void => stopWaiting.abort()
    if (!this.#effectiveWindow().isOpen)
      for (const interruption of interruptions) void interruption.then(interrupt)
    for (let window = this.#effectiveWindow(); !window.isOpen; window = this.#effectiveWindow()) {
      this.#pause(window)
      await this.#waitForChange(window, stopWaiting.signal)
      if (stopWaiting.signal.aborted) return
    }
    stopWaiting.abort()
    if (this.#recorder.state.Paused === 'force_run') return
    const message = 'The schedule of the task has opened'
    this.#recorder.setPaused('', { type: 'Running', message })
  }

  #pause(window: ScheduleWindow): void {
    this.#recorder.setState('pending')
    if (overrideOf(this.#recorder.state) !== 'scheduled') return
    this.#recorder.setPaused('scheduled_pause', { type: 'Pausing', message: pausedMessage(window) })
  }

  /** Calls back once when the task may run no longer; the answer ends the watch. */
  onClose(onClosed: () => void): () => void {
    const stopWatch = new AbortController()
    void this.#watchClose(stopWatch.signal, onClosed)
    return () => stopWatch.abort()
  }

  async #watchClose(stopped: AbortSignal, onClosed: () => void): Promise<void> {
    for (
      let window = this.#effectiveWindow();
      window.isOpen && !stopped.aborted;
      window = this.#effectiveWindow()
    )
      await this.#waitForChange(window, stopped)
    if (!stopped.aborted) onClosed()
  }

  #wakeWaiters(): void {
    for (const wakeUp of this.#waiters) wakeUp()
  }

  #effectiveWindow(): ScheduleWindow {
    if (this.#schedule === null) return ALWAYS_OPEN
    switch (overrideOf(this.#recorder.state)) {
      case 'pause':
        return ALWAYS_CLOSED
      case 'run':
        return ALWAYS_OPEN
      case 'scheduled':
        return this.#scheduledWindow()
    }
  }

  /** The window of the schedule itself. */
  #scheduledWindow(): ScheduleWindow {
    if (this.#schedule === null) return ALWAYS_OPEN
    const localZone = Intl.DateTimeFormat().resolvedOptions().timeZone
    return scheduleWindow(this.#schedule, {
      nowMs: this.#clock.nowMs(),
      offsetAt: timeZoneOffsetAt,
      localZone,
    })
  }

  /** Waits for the next change, at most a minute, because the system clock may be set. */
  async #waitForChange({ nextChangeMs }: ScheduleWindow, stopped: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = new AbortController()
    const wakeUp = (): void => {
      wake.abort()
      resolve()
    }
    this.#waiters.add(wakeUp)
    stopped.addEventListener('abort', wakeUp, { once: true })
    if (stopped.aborted) wakeUp()
    if (nextChangeMs === undefined) await promise
    else {
      const remainingMs = nextChangeMs - this.#clock.nowMs()
      await sleep(
        this.#clock,
        Math.min(remainingMs, AGENT_LIMITS.scheduleCheckIntervalMs),
        wake.signal,
      )
    }
    this.#waiters.delete(wakeUp)
    stopped.removeEventListener('abort', wakeUp)
  }
}

const FORCED_RUN_MESSAGE = 'Run by a user, regardless of the schedule of the task'
const SCHEDULE_RESUMED_MESSAGE = 'The task follows its schedule again'

function pausedMessage({ nextChangeMs }: ScheduleWindow): string {
  const until =
    nextChangeMs === undefined ? 'and it names no later time' : `until ${isoFromMs(nextChangeMs)}`
  return `Outside the schedule of the task ${until}`
}
