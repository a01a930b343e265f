import type { PauseState, TaskEvent, TaskState, TaskStateName } from '@reeve/contract'
import { isoFromMs, msFromNs } from '@reeve/kit/duration.ts'
import { assert } from '@reeve/kit/fault.ts'
import { LIMITS } from '../../model/index.ts'
import type { RunningTask } from '../driver.ts'

/**
 * Allowed state transitions. A dead task restarts only when a user restarts the whole allocation.
 */
const STATE_TRANSITIONS = {
  pending: ['running', 'dead'],
  running: ['pending', 'dead'],
  dead: ['pending'],
} as const satisfies Record<TaskStateName, readonly TaskStateName[]>

/**
 * Values of `Paused`: empty, paused by the schedule, paused by a user, or run by a user regardless
 * of the schedule.
 */
export type PausedValue = '' | 'scheduled_pause' | 'force_pause' | 'force_run'

/** The schedule override that a user has set. */
export function overrideOf({ Paused }: Pick<TaskState, 'Paused'>): PauseState {
  if (Paused === 'force_pause') return 'pause'
  return Paused === 'force_run' ? 'run' : 'scheduled'
}

/** Whether the task is paused by its schedule or by a user. */
export function isPaused({ Paused }: Pick<TaskState, 'Paused'>): boolean {
  return Paused !== '' && Paused !== 'force_run'
}

/** Appends an event. Only the latest 10 events are kept. */
export function appendEvent(state: TaskState, newEvent: TaskEvent): TaskState {
  const event = { ...newEvent, Time: Math.max(newEvent.Time, lastEventTimeNs(state)) }
  const withNewEvent = { ...state, Events: [...state.Events, event].slice(-LIMITS.taskEventsMax) }
  if (event.FailsTask) return { ...withNewEvent, Failed: true }
  if (event.Type !== 'Restarting') return withNewEvent
  return {
    ...withNewEvent,
    Restarts: state.Restarts + 1,
    LastRestart: isoFromMs(msFromNs(event.Time)),
  }
}

/**
 * Time of the last event; event times never decrease. A driver knows the exact time of an exit, but
 * a start is recorded when the driver reports it, which may be after the exit of a short task.
 */
function lastEventTimeNs({ Events }: TaskState): number {
  return Events.at(-1)?.Time ?? 0
}

/** Start time; negative if the task never started. */
function startedAtMs({ StartedAt }: TaskState): number {
  return Date.parse(StartedAt)
}

/** Moves the task to another state; no change if it is already in that state. */
export function transitionTo(state: TaskState, target: TaskStateName, timeMs: number): TaskState {
  if (state.State === target) return state
  const allowed: readonly TaskStateName[] = STATE_TRANSITIONS[state.State]
  assert(allowed.includes(target), `a task does not go from ${state.State} to ${target}`)
  switch (target) {
    case 'running':
      return { ...state, State: target, StartedAt: isoFromMs(timeMs) }
    case 'dead':
      return {
        ...state,
        State: target,
        FinishedAt: isoFromMs(Math.max(timeMs, startedAtMs(state))),
        Paused: '',
      }
    case 'pending':
      return { ...state, State: target }
  }
}

/**
 * Step of a task runner. The API has three task states; the agent also has to know what a task
 * waits for.
 */
export type Step =
  | { readonly at: 'restore' }
  | { readonly at: 'gate' }
  | { readonly at: 'prepare' }
  | { readonly at: 'watch'; readonly running: RunningTask }
  | { readonly at: 'stop'; readonly running: RunningTask }
  /** Kills the process because a restart was requested. */
  | { readonly at: 'renew'; readonly running: RunningTask }
  | { readonly at: 'delay'; readonly delayMs: number }
  | { readonly at: 'end' }

const STEP_TRANSITIONS = {
  restore: ['gate', 'prepare', 'watch', 'delay', 'end'],
  gate: ['prepare', 'end'],
  prepare: ['gate', 'watch', 'delay', 'end'],
  watch: ['stop', 'renew', 'delay', 'end'],
  stop: ['end'],
  renew: ['watch', 'gate', 'delay', 'end'],
  delay: ['gate', 'prepare', 'end'],
  end: [],
} as const satisfies Record<Step['at'], readonly Step['at'][]>

export const DONE_STEP = { at: 'end' } as const satisfies Step

/** Asserts that the transition is allowed. */
export function assertStepTransition(from: Step['at'], next: Step['at']): void {
  const allowed: readonly Step['at'][] = STEP_TRANSITIONS[from]
  assert(allowed.includes(next), `a task's step ${from} is not followed by ${next}`)
}
