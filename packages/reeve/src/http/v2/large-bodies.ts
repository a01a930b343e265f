import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import { err } from '@reeve/kit/result.ts'
import { LIMITS } from '../../model/index.ts'
import {
  overloadMessage,
  ThreadQueue,
  type TaskOrigin,
  type ThreadLimits,
} from '../../threads/index.ts'
import type { LargeBodyOutcome, LargeBodyTask } from './large-body-task.ts'

const THREAD_LIMITS: ThreadLimits = {
  msMax: LIMITS.largeBodyMsMax,
  megabytesMax: LIMITS.largeBodyMegabytesMax,
  waitingPerTenantMax: LIMITS.largeBodiesWaitingPerTenantMax,
  waitingMax: LIMITS.largeBodiesWaitingMax,
  waitMsMax: LIMITS.largeBodyWaitMsMax,
}

/**
 * Parses and validates large JSON bodies on a separate thread, tenant by tenant (decision 0081).
 * Only what the schema of the route knows comes back; free-form objects come back as bytes in
 * shared memory. The thread starts with the first large body.
 */
export class LargeBodies {
  readonly #queue: ThreadQueue<LargeBodyTask, LargeBodyOutcome>
  readonly #limits: ThreadLimits

  constructor(clock: Clock, limits: ThreadLimits = THREAD_LIMITS) {
    this.#limits = limits
    this.#queue = new ThreadQueue({
      clock,
      file: new URL('./large-body-worker.ts', import.meta.url),
      does: 'parses large request bodies',
      limits,
    })
  }

  /**
   * The bytes are moved to the thread: the caller must own their buffer, and not use them again.
   * Throws a fault of the kind `overloaded` when too many bodies wait.
   */
  async read(routeId: string, bytes: Buffer, origin: TaskOrigin): Promise<LargeBodyOutcome> {
    const { buffer } = bytes
    const moved = buffer instanceof ArrayBuffer ? [buffer] : []
    const run = this.#queue.run(() => ({ routeId, bytes }), origin, moved)
    // A body that was never sent is still here.
    const result = await run.finally(() => releaseBytes(bytes))
    switch (result.kind) {
      case 'done':
        return result.outcome
      case 'overloaded':
        throw new Fault(
          OVERLOADED,
          overloadMessage(result.cause, 'large request bodies', this.#limits),
        )
      case 'too-slow':
        return refused(`takes longer than ${this.#limits.msMax} ms to parse`)
      case 'too-large':
        return refused(`takes more than ${this.#limits.megabytesMax} MB of memory to parse`)
    }
  }

  /** Ends the thread; bodies that are not parsed by then fail. */
  stop(): Promise<void> {
    return this.#queue.stop()
  }
}

function refused(problem: string): LargeBodyOutcome {
  return err({ code: 'unprocessable', detail: `The body ${problem}` })
}
