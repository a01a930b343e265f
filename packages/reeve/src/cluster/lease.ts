/** Duration and intervals of the lease. */
export interface LeaseTiming {
  readonly ttlMs: number
  /** Renewal interval of the leader: several attempts fit into one lease. */
  readonly renewMs: number
  /** Interval at which a follower tries to acquire the lease. */
  readonly pollMs: number
}

/** A killed leader is replaced within the lease and one poll: well under five seconds. */
export const DEFAULT_LEASE_TIMING: LeaseTiming = { ttlMs: 3_000, renewMs: 750, pollMs: 250 }

/** Fraction of the lease by which clocks may drift apart, network delay included. */
const CLOCK_DRIFT_MARGIN = 0.1

/** Role of this server. Times are of a clock that never jumps. */
export type Leadership =
  | { readonly role: 'follower' }
  | {
      readonly role: 'leader'
      readonly term: number
      /** From this time on the server does not act as leader, whatever the storage says. */
      readonly validUntilMs: number
    }
  /** The server has lost the leadership. Its memory may be ahead of the log. */
  | { readonly role: 'deposed'; readonly term: number }

/** A lease event. `sentMs` is the time of the request: the storage counts from a later moment. */
export type LeaseEvent =
  | { readonly kind: 'acquired'; readonly term: number; readonly sentMs: number }
  | { readonly kind: 'held-by-another' }
  | { readonly kind: 'renewed'; readonly sentMs: number }
  | { readonly kind: 'lost' }
  | { readonly kind: 'no-answer' }

export const FOLLOWER: Leadership = { role: 'follower' }

/**
 * Returns the next state after a lease event. `deposed` is final; only `acquired` makes a leader.
 */
export function nextLeadership(
  current: Leadership,
  event: LeaseEvent,
  { ttlMs, nowMs }: { readonly ttlMs: number; readonly nowMs: number },
): Leadership {
  const validUntil = (sentMs: number): number => sentMs + ttlMs * (1 - CLOCK_DRIFT_MARGIN)
  if (current.role === 'deposed') return current
  if (current.role === 'follower') {
    if (event.kind !== 'acquired') return current
    // The response was so late that the lease may have expired: another server may lead already.
    const untilMs = validUntil(event.sentMs)
    return untilMs <= nowMs ? current : { role: 'leader', term: event.term, validUntilMs: untilMs }
  }
  const { term } = current
  if (event.kind === 'lost' || nowMs >= current.validUntilMs) return { role: 'deposed', term }
  if (event.kind !== 'renewed') return current
  return {
    role: 'leader',
    term,
    validUntilMs: Math.max(current.validUntilMs, validUntil(event.sentMs)),
  }
}

/** Reports whether the server may act as leader; to be checked before every response. */
export function isLeading(current: Leadership, nowMs: number): boolean {
  return current.role === 'leader' && nowMs < current.validUntilMs
}
