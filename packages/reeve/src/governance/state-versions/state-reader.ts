import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'
import { err, type Result } from '@reeve/kit/result.ts'
import { LIMITS } from '../../model/index.ts'
import { organizationTenant } from '../../policy/index.ts'
import { overloadMessage, ThreadQueue, type ThreadLimits } from '../../threads/index.ts'
import { inspectState, type InspectedState } from './inspect-state.ts'

export const STATE_READER_LIMITS: ThreadLimits = {
  timeoutMs: LIMITS.stateReadTimeoutMs,
  megabytesMax: LIMITS.stateReadMegabytesMax,
  waitingPerTenantMax: 32,
  waitingMax: 256,
  waitMsMax: LIMITS.largeBodyWaitTimeoutMs,
}

type InspectionResult = Result<InspectedState, string>

/**
 * Parses states: small ones on the event loop, large ones on a thread that is started on first use.
 */
export class StateReader {
  readonly #queue: ThreadQueue<Uint8Array, InspectionResult>
  readonly #limits: ThreadLimits

  constructor(clock: Clock, limits: ThreadLimits = STATE_READER_LIMITS) {
    this.#limits = limits
    this.#queue = new ThreadQueue({
      clock,
      file: new URL('./state-worker.ts', import.meta.url),
      description: 'reads states',
      limits,
    })
  }

  /** Returns the parsed state, or why it is invalid. The caller keeps the bytes. */
  async inspect(bytes: Uint8Array, organizationId: string): Promise<InspectionResult> {
    if (bytes.length <= LIMITS.inlineBodyBytesMax) return inspectState(bytes)
    const tenant = organizationTenant(organizationId)
    const result = await this.#queue.run(() => bytes, { tenant })
    switch (result.kind) {
      case 'done':
        return result.outcome
      case 'too-slow':
        return err(`The state takes longer than ${this.#limits.timeoutMs} ms to read`)
      case 'too-large':
        return err(`The state takes more than ${this.#limits.megabytesMax} MB of memory to read`)
      case 'overloaded':
        throw new Fault(OVERLOADED, overloadMessage(result.cause, 'states', this.#limits))
    }
  }

  /** Terminates the thread; pending states fail. */
  stop(): Promise<void> {
    return this.#queue.stop()
  }
}
