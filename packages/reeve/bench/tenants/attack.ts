/** What every attack is given and has to be. */

/** Where an attack is aimed, and with whose rights. All of it is on 127.0.0.1. */
export interface AttackTarget {
  readonly port: number
  /** A bare server that is not Reeve, for the control. */
  readonly barePort: number
  readonly namespace: string
  /** `write` on the attacker's own namespace. */
  readonly token: string
  /** A user of another organization, of which it is the owner. */
  readonly userToken: string
  readonly organization: string
  /** For the attacks of a node that misbehaves. */
  readonly joinToken: string
}

/** One attack under way: what it may use, and where it notes how it was answered. */
export interface Assault {
  readonly target: AttackTarget
  /** Aborted when the time is up; everything that is open has to end then. */
  readonly signal: AbortSignal
  /** Notes an answer: a status, or how a connection ended. */
  readonly count: (what: string) => void
}

export interface Attack {
  /** For `--only`. */
  readonly name: string
  /** One line for the reader of the table. */
  readonly summary: string
  /** Whether it comes without a valid token. */
  readonly isAnonymous?: boolean
  /**
   * Prepares what a well-behaved caller may have too (jobs, policies, workspaces), and returns the
   * attack itself, which ends when the signal is aborted or its bounds are reached.
   */
  prepare(assault: Assault): Promise<() => Promise<void>>
}

/** Connections of one attack, unless it says otherwise. */
export const CONNECTIONS = 64

/** An attack that needs no preparation. */
export function direct(
  attack: Omit<Attack, 'prepare'>,
  run: (assault: Assault) => Promise<void>,
): Attack {
  return { ...attack, prepare: (assault) => Promise.resolve(() => run(assault)) }
}
