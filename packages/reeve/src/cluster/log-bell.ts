/** What changed in the shared storage: entries were appended, or the lease got another holder. */
export type Rung = 'log' | 'lease'

/**
 * Tells a follower that there is something to look at, so that it need not look all the time. It
 * may ring for nothing and may be deaf for a while: whoever listens still looks now and then.
 */
export interface LogBell {
  /** Calls `heard` for each change from now on, and once for each whenever it can hear (again). */
  listen(heard: (rung: Rung) => void): Listening
}

export interface Listening {
  /** False while changes may pass unheard. */
  readonly canHear: boolean
  /** Nothing is heard any more; does not wait for anything. */
  stop(): void
}
