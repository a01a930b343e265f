/**
 * A long computation as a generator that yields where it can be interrupted, some thousand times a
 * second. The same code serves callers that block and callers that share the event loop.
 */
export type Steps<T> = Generator<undefined, T, undefined>

export interface SliceOptions {
  /** Yields to the event loop and resolves in the next turn. */
  readonly nextTurn: () => Promise<void>
  /** Milliseconds of a monotonic clock. */
  readonly monotonicMs: () => number
  /** How long steps run before they yield to the event loop. */
  readonly sliceMs: number
  /** Called before the first interruption: the state may change from then on. */
  readonly beforeFirstTurn?: () => void
}

/** Runs the steps in time slices. A computation that fits into one slice is never interrupted. */
export async function runInSlices<T>(steps: Steps<T>, options: SliceOptions): Promise<T> {
  const { nextTurn, monotonicMs, sliceMs, beforeFirstTurn } = options
  let sliceEndMs = monotonicMs() + sliceMs
  let isFirst = true
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (monotonicMs() < sliceEndMs) continue
    if (isFirst) beforeFirstTurn?.()
    isFirst = false
    await nextTurn()
    sliceEndMs = monotonicMs() + sliceMs
  }
}

/** Runs all steps without interruption. */
export function runToCompletion<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
