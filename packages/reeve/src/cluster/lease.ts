/** How long a lease lasts and how often it is looked after. */
export interface LeaseSettings {
  readonly ttlMs: number
  /** A leader renews after this time: several tries fit into one lease. */
  readonly renewMs: number
  /** Somebody who does not lead asks again after this time. */
  readonly pollMs: number
}

/** A killed leader is replaced within the lease and a poll: well under five seconds. */
export const LEASE: LeaseSettings = { ttlMs: 3_000, renewMs: 750, pollMs: 250 }

/** Two clocks count alike to within this part of a lease, and an answer takes its time. */
const DRIFT = 0.1

/** What this server may take itself for. Times are of a clock that never jumps. */
export type Leadership =
  | { readonly role: 'follower' }
  | {
      readonly role: 'leader'
      readonly term: number
      /** From this moment on it does not claim to lead, whatever the storage may still think. */
      readonly untilMs: number
    }
  /** It led and does not any more. What it holds in memory may be ahead of the log. */
  | { readonly role: 'deposed'; readonly term: number }

/** What it learned. `sentMs` is when it asked: the storage counted from a later moment. */
export type LeaseNews =
  | { readonly kind: 'acquired'; readonly term: number; readonly sentMs: number }
  | { readonly kind: 'held-by-another' }
  | { readonly kind: 'renewed'; readonly sentMs: number }
  | { readonly kind: 'lost' }
  | { readonly kind: 'no-answer' }

export const FOLLOWER: Leadership = { role: 'follower' }

/**
 * What news make of a leadership. Nobody is deposed twice, and nobody leads again without a term.
 */
export function hearOfLease(
  now: Leadership,
  news: LeaseNews,
  { ttlMs, nowMs }: { readonly ttlMs: number; readonly nowMs: number },
): Leadership {
  const until = (sentMs: number): number => sentMs + ttlMs * (1 - DRIFT)
  if (now.role === 'deposed') return now
  if (now.role === 'follower') {
    if (news.kind !== 'acquired') return now
    // Taken so long ago that it may be over: another may lead already.
    const untilMs = until(news.sentMs)
    return untilMs <= nowMs ? now : { role: 'leader', term: news.term, untilMs }
  }
  const { term } = now
  if (news.kind === 'lost' || nowMs >= now.untilMs) return { role: 'deposed', term }
  if (news.kind !== 'renewed') return now
  return { role: 'leader', term, untilMs: Math.max(now.untilMs, until(news.sentMs)) }
}

/** Whether it may answer as the leader at this moment: asked before every such answer. */
export function isLeading(now: Leadership, nowMs: number): boolean {
  return now.role === 'leader' && nowMs < now.untilMs
}
