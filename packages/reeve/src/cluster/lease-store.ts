import type { EntryId } from './log-history.ts'

/**
 * Stores leadership: one lease, in the same storage as the log. A new holder gets a new, higher
 * term, and from then on the storage rejects writes of earlier terms. The storage's clock decides
 * about expiry. One shared suite (test/suites/lease-store.ts) tests every implementation against
 * these comments. Faults are those of the storage.
 */
export interface LeaseStore {
  /**
   * Acquires the lease if it is free or the same holder has it. Undefined if another holder has it.
   * After a rejection it is unknown whether it was acquired; calling again settles it.
   */
  acquire(claim: LeaseClaim): Promise<LeaseHeld | undefined>

  /**
   * Extends the lease to `ttlMs` from now. Returns false if it has expired, belongs to another
   * holder, or the log lacks the claim's entry; that is final. An expired lease is not renewed: its
   * holder has already stopped leading, so a late renewal would only make the others wait.
   */
  renew(held: LeaseHeld, claim: LeaseClaim): Promise<boolean>

  /**
   * Releases the lease, so that the next holder need not wait for the expiry. No effect if it is
   * lost.
   */
  release(held: LeaseHeld): Promise<void>

  /** Returns the leader as of the response. */
  read(): Promise<LeaseStatus>
}

export interface LeaseClaim {
  /** Id of a process: a restarted server is another holder. */
  readonly holder: string
  /** Address at which other servers reach the holder over HTTP. */
  readonly address: string
  readonly ttlMs: number
  /**
   * The last entry that the holder has applied; it keeps the lease only while the log has this
   * entry.
   */
  readonly applied?: EntryId
}

export interface LeaseHeld {
  readonly term: number
}

export interface LeaseStatus extends LeaseHeld {
  readonly holder: string
  /** Empty if the lease was released. */
  readonly address: string
  /** Time until the expiry; 0 if it has expired. */
  readonly remainingMs: number
}
