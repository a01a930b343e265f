import type { EntryId } from './log-history.ts'

/**
 * Where leadership is kept: one lease, in the same storage as the log. A new holder gets a term
 * that was never given before, and from that moment the storage refuses what is written in an
 * earlier one. Expiry is judged by the storage's clock. One shared suite
 * (test/suites/lease-store.ts) holds every implementation to these comments. Faults are the
 * storage's.
 */
export interface LeaseStore {
  /**
   * Takes the lease if nobody holds it, or the same holder does. Undefined when another holds it. A
   * rejection leaves open whether it was taken; asking again settles it.
   */
  acquire(claim: LeaseClaim): Promise<LeaseHeld | undefined>

  /**
   * Makes it last `ttlMs` from now on. False when it has run out, is another's by now, or the log
   * lacks the entry that the claim names: it never comes back. Whoever held it has stopped leading
   * before that, so a renewal that was long on its way would only keep the others waiting.
   */
  renew(held: LeaseHeld, claim: LeaseClaim): Promise<boolean>

  /** Gives it back, so that the next need not wait for the expiry. Does nothing when it is lost. */
  release(held: LeaseHeld): Promise<void>

  /** Who leads, as of the answer. */
  find(): Promise<LeaseFound>
}

export interface LeaseClaim {
  /** One process: a server that starts again is another holder. */
  readonly holder: string
  /** Where the others reach it over HTTP. */
  readonly address: string
  readonly ttlMs: number
  /** The last entry that the holder has applied: it keeps the lease while the log holds it. */
  readonly applied?: EntryId
}

export interface LeaseHeld {
  readonly term: number
}

export interface LeaseFound extends LeaseHeld {
  readonly holder: string
  /** Empty when the lease was given back. */
  readonly address: string
  /** Until it expires; 0 when it has. */
  readonly leftMs: number
}
