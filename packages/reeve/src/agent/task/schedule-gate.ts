import type { TaskSchedule } from '@reeve/contract'
import type { Clock } from '../../kit/clock.ts'
import { isoFromMs } from '../../kit/duration.ts'
import { createZoneOffsets } from '../../kit/zone-offsets.ts'
import { isEqual, scheduleWindow, type ScheduleWindow } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { pause } from '../wait.ts'
import type { TaskLedger } from './task-ledger.ts'

const offsetAt = createZoneOffsets()

const ALWAYS_OPEN: ScheduleWindow = { isOpen: true, changesMs: undefined }

/**
 * The `schedule` block of a task: holds the task back outside its windows and reports when one
 * closes. A task without the block is never held back. The servers are not asked, so a schedule is
 * followed also while none can be reached.
 */
export class ScheduleGate {
  readonly #clock: Clock
  readonly #wakeUps = new Set<() => void>()
  #schedule: TaskSchedule | null

  constructor(clock: Clock, schedule: TaskSchedule | null | undefined) {
    this.#clock = clock
    this.#schedule = schedule ?? null
  }

  /** The job changed: every wait is evaluated again. */
  update(schedule: TaskSchedule | null | undefined): void {
    if (isEqual(schedule ?? null, this.#schedule)) return
    this.#schedule = schedule ?? null
    for (const wakeUp of this.#wakeUps) wakeUp()
  }

  /**
   * Resolves when the task may run, or when one of the others settles. The task is shown as paused
   * meanwhile.
   */
  async opened(ledger: TaskLedger, cutShort: readonly Promise<unknown>[]): Promise<void> {
    const first = this.#window()
    if (!first.isOpen) ledger.pause(pausedText(first))
    const over = new AbortController()
    const end = (): void => over.abort()
    if (!first.isOpen) for (const one of cutShort) void one.then(end)
    for (let window = first; !window.isOpen && !over.signal.aborted; window = this.#window())
      await this.#untilChange(window, over.signal)
    over.abort()
    ledger.resume(this.#window().isOpen ? 'The schedule of the task has opened' : undefined)
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

  #window(): ScheduleWindow {
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

function pausedText({ changesMs }: ScheduleWindow): string {
  const until =
    changesMs === undefined ? 'and it names no later time' : `until ${isoFromMs(changesMs)}`
  return `Outside the schedule of the task ${until}`
}
