import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { remove, type Store } from '../state/index.ts'
import type { ControlLog } from './control-log.ts'

/**
 * Expired tokens stop working at once (they are checked on use); their rows go within this time.
 */
const COLLECT_EVERY_MS = 60_000

export interface ExpiryLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: ControlLog
  /** Corrects the deadlines first if the clock has jumped. */
  readonly checkClock: () => void
}

/** Removes expired tokens, one-time tokens and join tokens. */
export class ExpiryLoop {
  readonly #options: ExpiryLoopOptions
  #cancelTimer: () => void = () => undefined

  constructor(options: ExpiryLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(COLLECT_EVERY_MS, () => {
      this.start()
      this.collect()
    })
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** One round; also what the tests call. */
  collect(): void {
    const { store, clock, log, checkClock } = this.#options
    checkClock()
    const nowMs = clock.nowMs()
    const { acl_tokens, one_time_tokens, node_join_tokens } = store.tables
    const expired = (time: string | null): boolean => time !== null && Date.parse(time) <= nowMs
    const tokens = [...acl_tokens.rows()].filter((row) => expired(row.ExpirationTime))
    const oneTime = [...one_time_tokens.rows()].filter((row) => expired(row.ExpiresAt))
    const joinTokens = [...node_join_tokens.rows()].filter((row) => expired(row.ExpiresAt))
    try {
      if (tokens.length > 0)
        store.commit({
          by: 'system',
          cause: 'ACLTokenDeleted',
          changes: () => tokens.map((row) => remove('acl_tokens', row.AccessorID)),
        })
      if (oneTime.length + joinTokens.length > 0)
        store.commit({
          by: 'system',
          cause: undefined,
          changes: () => [
            ...oneTime.map((row) => remove('one_time_tokens', row.AccessorID)),
            ...joinTokens.map((row) => remove('node_join_tokens', row.ID)),
          ],
        })
    } catch (thrown) {
      // The storage has failed: the next round, or the next start, removes them.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'expired tokens could not be removed')
    }
  }
}
