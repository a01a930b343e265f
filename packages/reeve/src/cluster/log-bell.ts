/** A change in the shared storage: appended entries, or a new holder of the lease. */
export type StorageChange = 'log' | 'lease'

/**
 * Notifies followers of changes, so that they poll rarely. Notifications may be spurious or lost
 * for a while: subscribers still poll.
 */
export interface ChangeNotifier {
  /**
   * Calls `onChange` for each change from now on, and for both kinds when the connection is
   * (re)opened.
   */
  subscribe(onChange: (change: StorageChange) => void): NotifierSubscription
}

export interface NotifierSubscription {
  /** False while notifications may be lost. */
  readonly isConnected: boolean
  /** Ends the notifications at once. */
  stop(): void
}
