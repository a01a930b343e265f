import { assert } from '@reeve/kit/fault.ts'
import type { RunningTask } from '../driver.ts'

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
