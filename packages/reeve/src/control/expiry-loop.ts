import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { remove, type Store } from '../state/index.ts'
import type { Logger } from './control-log.ts'

/**
 * Interval of the collection. Expired tokens are rejected immediately; their rows are deleted
 * within this time.
 */
const TOKEN_INTERVAL_MS = 60_000

export interface TokenExpiryLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
  /** Corrects stored deadlines if the clock has jumped. */
  readonly checkClock: () => void
}

/** Deletes expired ACL tokens, one-time tokens and join tokens. */
export class TokenExpiryLoop {
  readonly #options: TokenExpiryLoopOptions
  #cancelTimer: () => void = () => undefined

  constructor(options: TokenExpiryLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(TOKEN_INTERVAL_MS, () => {
      this.start()
      this.runOnce()
    })
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** Runs one collection. Also called by tests. */
  runOnce(): void {
    const { store, clock, log, checkClock } = this.#options
    checkClock()
    const nowMs = clock.nowMs()
    const { acl_tokens, one_time_tokens, node_join_tokens } = store.tables
    const isExpired = (time: string | null): boolean => time !== null && Date.parse(time) <= nowMs
    const tokens = [...acl_tokens.rows()].filter((row) => isExpired(row.ExpirationTime))
    const oneTimeTokens = [...one_time_tokens.rows()].filter((row) => isExpired(row.ExpiresAt))
    const joinTokens = [...node_join_tokens.rows()].filter((row) => isExpired(row.ExpiresAt))
    try {
      if (tokens.length > 0)
        store.commit({
          by: 'system',
          cause: 'ACLTokenDeleted',
          changes: () => tokens.map((row) => remove('acl_tokens', row.AccessorID)),
        })
      if (oneTimeTokens.length + joinTokens.length > 0)
        store.commit({
          by: 'system',
          cause: undefined,
          changes: () => [
            ...oneTimeTokens.map((row) => remove('one_time_tokens', row.AccessorID)),
            ...joinTokens.map((row) => remove('node_join_tokens', row.ID)),
          ],
        })
    } catch (thrown) {
      // Storage fault: the next run deletes them.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'expired tokens could not be removed')
    }
  }
}
