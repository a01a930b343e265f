import { assert } from '@reeve/kit/fault.ts'
import type { RunningTask } from '../driver.ts'

/**
 * Where a task is on its way. The wire knows three states; the agent needs to know what it waits
 * for.
 */
export type Step =
  | { readonly at: 'restore' }
  | { readonly at: 'gate' }
  | { readonly at: 'prepare' }
  | { readonly at: 'watch'; readonly running: RunningTask }
  | { readonly at: 'stop'; readonly running: RunningTask }
  /** Ends the process because somebody asked for another one. */
  | { readonly at: 'renew'; readonly running: RunningTask }
  | { readonly at: 'delay'; readonly delayMs: number }
  | { readonly at: 'end' }

const NEXT = {
  restore: ['gate', 'prepare', 'watch', 'delay', 'end'],
  gate: ['prepare', 'end'],
  prepare: ['gate', 'watch', 'delay', 'end'],
  watch: ['stop', 'renew', 'delay', 'end'],
  stop: ['end'],
  renew: ['watch', 'gate', 'delay', 'end'],
  delay: ['gate', 'prepare', 'end'],
  end: [],
} as const satisfies Record<Step['at'], readonly Step['at'][]>

export const END = { at: 'end' } as const satisfies Step

/** A step that may not follow is a bug of ours. */
export function checkStep(from: Step['at'], to: Step['at']): void {
  const allowed: readonly Step['at'][] = NEXT[from]
  assert(allowed.includes(to), `a task's step ${from} is not followed by ${to}`)
}
