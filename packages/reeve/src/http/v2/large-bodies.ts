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
  timeoutMs: LIMITS.largeBodyTimeoutMs,
  megabytesMax: LIMITS.largeBodyMegabytesMax,
  waitingPerTenantMax: LIMITS.largeBodiesWaitingPerTenantMax,
  waitingMax: LIMITS.largeBodiesWaitingMax,
  waitMsMax: LIMITS.largeBodyWaitTimeoutMs,
}

/**
 * Parses and validates large JSON bodies on a separate thread, tenant by tenant (decision 0081).
 * Only members of the route's schema are returned; free-form objects are returned as bytes in
 * shared memory. The thread starts with the first large body.
 */
export class LargeBodyParser {
  readonly #queue: ThreadQueue<LargeBodyTask, LargeBodyOutcome>
  readonly #limits: ThreadLimits

  constructor(clock: Clock, limits: ThreadLimits = THREAD_LIMITS) {
    this.#limits = limits
    this.#queue = new ThreadQueue({
      clock,
      file: new URL('./large-body-worker.ts', import.meta.url),
      description: 'parses large request bodies',
      limits,
    })
  }

  /**
   * Transfers the bytes to the thread: the caller must own their buffer and not use it again.
   * Throws a Fault of the kind `overloaded` if too many bodies are queued.
   */
  async read(routeId: string, bytes: Buffer, origin: TaskOrigin): Promise<LargeBodyOutcome> {
    const { buffer } = bytes
    const transfer = buffer instanceof ArrayBuffer ? [buffer] : []
    const run = this.#queue.run(() => ({ routeId, bytes }), origin, transfer)
    // A body that was never sent is still in this thread's memory.
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
        return rejected(`takes longer than ${this.#limits.timeoutMs} ms to parse`)
      case 'too-large':
        return rejected(`takes more than ${this.#limits.megabytesMax} MB of memory to parse`)
    }
  }

  /** Terminates the thread; bodies that are not parsed by then fail. */
  stop(): Promise<void> {
    return this.#queue.stop()
  }
}

function rejected(problem: string): LargeBodyOutcome {
  return err({ code: 'unprocessable', detail: `The body ${problem}` })
}
