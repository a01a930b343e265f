import type { PauseState, TaskSchedule } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { isEqual, scheduleWindow, type ScheduleWindow } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { pause } from '../wait.ts'
import type { TaskLedger } from './task-ledger.ts'
import { overrideOf } from './task-state.ts'

const offsetAt = createTimeZoneOffset()

const ALWAYS_OPEN: ScheduleWindow = { isOpen: true, changesMs: undefined }
const ALWAYS_CLOSED: ScheduleWindow = { isOpen: false, changesMs: undefined }

/**
 * The `schedule` block of a task: holds the task back outside its windows and reports when one
 * closes. A user may override the schedule; the override is kept in the task's state (`Paused`), so
 * it outlives the agent. A task without the block is never held back. The servers are not asked, so
 * a schedule is followed also while none can be reached.
 */
export class ScheduleGate {
  readonly #clock: Clock
  readonly #ledger: TaskLedger
  readonly #wakeUps = new Set<() => void>()
  #schedule: TaskSchedule | null

  constructor(clock: Clock, ledger: TaskLedger, schedule: TaskSchedule | null | undefined) {
    this.#clock = clock
    this.#ledger = ledger
    this.#schedule = schedule ?? null
  }

  /** The job changed: every wait is evaluated again. An override ends with its schedule. */
  update(schedule: TaskSchedule | null | undefined): void {
    if (isEqual(schedule ?? null, this.#schedule)) return
    this.#schedule = schedule ?? null
    if (this.#schedule === null) this.#ledger.setPaused('')
    this.#wakeUp()
  }

  /**
   * Faults `task-not-running` when the task has ended, `task-unscheduled` when it has no schedule
   * to override.
   */
  override(wanted: PauseState): void {
    if (this.#ledger.state.State === 'dead')
      throw new Fault('task-not-running', 'the task has ended')
    if (this.#schedule === null)
      throw new Fault('task-unscheduled', 'the task has no schedule block that could be overridden')
    if (wanted === overrideOf(this.#ledger.state)) return
    switch (wanted) {
      case 'pause':
        this.#ledger.setPaused('force_pause', { type: 'Pausing', message: 'Paused by a user' })
        break
      case 'run':
        this.#ledger.setPaused('force_run', { type: 'Running', message: FORCED_RUN })
        break
      case 'scheduled':
        this.#follow()
    }
    this.#wakeUp()
  }

  #follow(): void {
    const window = this.#scheduled()
    if (window.isOpen) this.#ledger.setPaused('', { type: 'Running', message: FOLLOWS_AGAIN })
    else this.#ledger.setPaused('scheduled_pause', { type: 'Pausing', message: pausedText(window) })
  }

  /**
   * Resolves when the task may run, or when one of the others settles. The task is shown as paused
   * meanwhile.
   */
  async opened(cutShort: readonly Promise<unknown>[]): Promise<void> {
    const over = new AbortController()
    const end = (): void => over.abort()
    if (!this.#window().isOpen) for (const one of cutShort) void one.then(end)
    for (let window = this.#window(); !window.isOpen; window = this.#window()) {
      this.#hold(window)
      await this.#untilChange(window, over.signal)
      if (over.signal.aborted) return
    }
    over.abort()
    if (this.#ledger.state.Paused === 'force_run') return
    const message = 'The schedule of the task has opened'
    this.#ledger.setPaused('', { type: 'Running', message })
  }

  #hold(window: ScheduleWindow): void {
    this.#ledger.move('pending')
    if (overrideOf(this.#ledger.state) !== 'scheduled') return
    this.#ledger.setPaused('scheduled_pause', { type: 'Pausing', message: pausedText(window) })
  }

  /** Calls back once when the task may run no longer; the answer ends the watch. */
  onClose(close: () => void): () => void {
    const over = new AbortController()
    void this.#watchClose(over.signal, close)
    return () => over.abort()
  }

  async #watchClose(over: AbortSignal, close: () => void): Promise<void> {
    for (let window = this.#window(); window.isOpen && !over.aborted; window = this.#window())
      await this.#untilChange(window, over)
    if (!over.aborted) close()
  }

  #wakeUp(): void {
    for (const wakeUp of this.#wakeUps) wakeUp()
  }

  #window(): ScheduleWindow {
    if (this.#schedule === null) return ALWAYS_OPEN
    switch (overrideOf(this.#ledger.state)) {
      case 'pause':
        return ALWAYS_CLOSED
      case 'run':
        return ALWAYS_OPEN
      case 'scheduled':
        return this.#scheduled()
    }
  }

  /** The window of the schedule itself. */
  #scheduled(): ScheduleWindow {
    if (this.#schedule === null) return ALWAYS_OPEN
    const localZone = Intl.DateTimeFormat().resolvedOptions().timeZone
    return scheduleWindow(this.#schedule, { nowMs: this.#clock.nowMs(), offsetAt, localZone })
  }

  /** Evaluated again every minute: the clock of the machine may be set. */
  async #untilChange({ changesMs }: ScheduleWindow, over: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = new AbortController()
    const wakeUp = (): void => {
      wake.abort()
      resolve()
    }
    this.#wakeUps.add(wakeUp)
    over.addEventListener('abort', wakeUp, { once: true })
    if (over.aborted) wakeUp()
    if (changesMs === undefined) await promise
    else {
      const leftMs = changesMs - this.#clock.nowMs()
      await pause(this.#clock, Math.min(leftMs, AGENT_LIMITS.scheduleCheckMs), wake.signal)
    }
    this.#wakeUps.delete(wakeUp)
    over.removeEventListener('abort', wakeUp)
  }
}

const FORCED_RUN = 'Run by a user, regardless of the schedule of the task'
const FOLLOWS_AGAIN = 'The task follows its schedule again'

function pausedText({ changesMs }: ScheduleWindow): string {
  const until =
    changesMs === undefined ? 'and it names no later time' : `until ${isoFromMs(changesMs)}`
  return `Outside the schedule of the task ${until}`
}
