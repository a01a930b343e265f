import type { LeaderRoute, ReadConsistency } from '../http/index.ts'

/** Leadership as this server knows it when a request arrives. */
export interface LeadershipView {
  readonly isLeading: boolean
  /** `host:port` of the leader, possibly this server; empty without a leader. */
  readonly leaderAddress: string
}

interface ForwardState {
  readonly isForwarded: boolean
  /** The request names another server that is reachable. */
  readonly namesOtherServer?: boolean
}

/** Chooses the server that answers. A forwarded request is not forwarded again. */
export function routeByLeadership(
  { answeredBy, isRead, isStale, isConsistent }: ReadConsistency,
  { isForwarded, namesOtherServer = false }: ForwardState,
  { isLeading, leaderAddress }: LeadershipView,
): LeaderRoute {
  if (answeredBy === 'self') return namesOtherServer && !isForwarded ? 'forward' : 'local'
  const mayBeStale = answeredBy === 'any' && isStale
  if (isLeading) return isRead && isConsistent && !mayBeStale ? 'linearizable' : 'local'
  if (mayBeStale) return 'local'
  return leaderAddress === '' || isForwarded ? 'no-leader' : 'forward'
}
