import type { PauseState, TaskEvent, TaskState, TaskStateName } from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { assert } from '@reeve/kit/fault.ts'
import { LIMITS } from '../../model/index.ts'

/** A dead task lives again only when a user restarts the whole allocation. */
const NEXT = {
  pending: ['running', 'dead'],
  running: ['pending', 'dead'],
  dead: ['pending'],
} as const satisfies Record<TaskStateName, readonly TaskStateName[]>

export function freshTaskState(): TaskState {
  return {
    State: 'pending',
    Failed: false,
    Restarts: 0,
    LastRestart: ZERO_TIME,
    StartedAt: ZERO_TIME,
    FinishedAt: ZERO_TIME,
    Events: [],
    TaskHandle: null,
    Paused: '',
  }
}

/**
 * `Paused` of a task: empty, or its schedule holds it back, or a user does, or a user runs it
 * regardless of its schedule.
 */
export type Pausing = '' | 'scheduled_pause' | 'force_pause' | 'force_run'

/** What a user wants of the schedule of a task. */
export function overrideOf({ Paused }: Pick<TaskState, 'Paused'>): PauseState {
  if (Paused === 'force_pause') return 'pause'
  return Paused === 'force_run' ? 'run' : 'scheduled'
}

/** Whether the schedule or a user holds the task back. */
export function isPaused({ Paused }: Pick<TaskState, 'Paused'>): boolean {
  return Paused !== '' && Paused !== 'force_run'
}

/** Adds what happened. Only the latest 10 events are kept; the oldest goes first. */
export function withEvent(state: TaskState, told: TaskEvent): TaskState {
  const event = { ...told, Time: Math.max(told.Time, lastEventNs(state)) }
  const noted = { ...state, Events: [...state.Events, event].slice(-LIMITS.taskEventsMax) }
  if (event.FailsTask) return { ...noted, Failed: true }
  if (event.Type !== 'Restarting') return noted
  return { ...noted, Restarts: state.Restarts + 1, LastRestart: isoFromMs(msFromNs(event.Time)) }
}

/**
 * Times never go back. A driver knows when a process ended; that it was started is known here only
 * when the driver has said so, which for a short one may be later.
 */
function lastEventNs({ Events }: TaskState): number {
  return Events.at(-1)?.Time ?? 0
}

/** Negative when it never began. */
function startMs({ StartedAt }: TaskState): number {
  return Date.parse(StartedAt)
}

/** Moves the task along the table; staying where it is is no move. */
export function moved(state: TaskState, to: TaskStateName, timeMs: number): TaskState {
  if (state.State === to) return state
  const allowed: readonly TaskStateName[] = NEXT[state.State]
  assert(allowed.includes(to), `a task does not go from ${state.State} to ${to}`)
  switch (to) {
    case 'running':
      return { ...state, State: to, StartedAt: isoFromMs(timeMs) }
    case 'dead':
      return {
        ...state,
        State: to,
        FinishedAt: isoFromMs(Math.max(timeMs, startMs(state))),
        Paused: '',
      }
    case 'pending':
      return { ...state, State: to }
  }
}
