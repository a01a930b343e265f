/** The interface of attacks. */

/** The target of an attack and the attacker's credentials. Everything is on 127.0.0.1. */
export interface AttackTarget {
  readonly port: number
  /** A bare server without Reeve, for the control. */
  readonly barePort: number
  readonly namespace: string
  /** Has `write` on the attacker's own namespace. */
  readonly token: string
  /** A user who owns another organization. */
  readonly userToken: string
  readonly organization: string
  /** For attacks by a misbehaving node. */
  readonly joinToken: string
}

/** A running attack: its resources and its result counter. */
export interface Assault {
  readonly target: AttackTarget
  /** Aborted when the time is up; everything open must then be closed. */
  readonly signal: AbortSignal
  /** Counts a result: a status, or how a connection ended. */
  readonly count: (what: string) => void
}

export interface Attack {
  /** For `--only`. */
  readonly name: string
  /** A one-line summary for the table. */
  readonly summary: string
  /** Whether the attack uses no valid token. */
  readonly isAnonymous?: boolean
  /**
   * Prepares anything that a regular caller may create (jobs, policies, workspaces), and returns
   * the attack itself, which ends when the signal is aborted or its limits are reached.
   */
  prepare(assault: Assault): Promise<() => Promise<void>>
}

/** Default number of connections per attack. */
export const CONNECTIONS = 64

/** An attack that needs no preparation. */
export function direct(
  attack: Omit<Attack, 'prepare'>,
  run: (assault: Assault) => Promise<void>,
): Attack {
  return { ...attack, prepare: (assault) => Promise.resolve(() => run(assault)) }
}
