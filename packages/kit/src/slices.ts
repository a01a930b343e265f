/**
 * A long computation as steps: it yields wherever it can be interrupted, some thousand times a
 * second. One code path serves callers that wait for it and callers that share the event loop.
 */
export type Steps<T> = Generator<undefined, T, undefined>

export interface SliceOptions {
  /** Gives the event loop back and resolves at the next turn. */
  readonly nextTurn: () => Promise<void>
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number
  /** How long the steps run before others have their turn. */
  readonly sliceMs: number
  /** Called before the first interruption: from then on the state may change. */
  readonly beforeFirstTurn?: () => void
}

/** Runs the steps in slices. A computation that fits into one slice is never interrupted. */
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

/** Runs the steps without interruption. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
