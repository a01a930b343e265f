import type { LeaderRoute, ReadConsistency } from '../http/index.ts'

/** What a server knows about leadership when a request arrives. */
export interface LeaderView {
  readonly isLeading: boolean
  /** `host:port` of the leader, which may be this server; empty when there is none. */
  readonly leader: string
}

interface RouteFacts {
  readonly isForwarded: boolean
  /** The request names another server that can be reached. */
  readonly isElsewhere?: boolean
}

/** Chooses the server that answers. A forwarded request is not forwarded again. */
export function routeByLeadership(
  { answeredBy, isRead, isStale, isConsistent }: ReadConsistency,
  { isForwarded, isElsewhere = false }: RouteFacts,
  { isLeading, leader }: LeaderView,
): LeaderRoute {
  if (answeredBy === 'self') return isElsewhere && !isForwarded ? 'forward' : 'local'
  const mayBeStale = answeredBy === 'any' && isStale
  if (isLeading) return isRead && isConsistent && !mayBeStale ? 'linearizable' : 'local'
  if (mayBeStale) return 'local'
  return leader === '' || isForwarded ? 'no-leader' : 'forward'
}
