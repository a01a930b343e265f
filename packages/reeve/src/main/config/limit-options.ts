import { always, option } from './option.ts'
import { integer } from './value-kinds.ts'

const RATE_MAX = 1_000_000

/** Settings of the block `limits`: how much of a server one client may take. */
export const limitOptions = {
  limitRequests: option({
    kind: integer({ min: 0, max: RATE_MAX }),
    file: ['limits', 'requests_per_second'],
    environment: 'REEVE_LIMITS_REQUESTS_PER_SECOND',
    byDefault: always(5_000, '`5000`'),
    help: 'Requests each second of one token, where ACLs are enabled; 0 is any number.',
    read: (config) => config.limits.requestsPerSecond,
  }),
  limitAnonymousRequests: option({
    kind: integer({ min: 0, max: RATE_MAX }),
    file: ['limits', 'anonymous_requests_per_second'],
    environment: 'REEVE_LIMITS_ANONYMOUS_REQUESTS_PER_SECOND',
    byDefault: always(1_000, '`1000`'),
    help:
      'Requests each second of one address without a valid token, where ACLs are enabled; 0 is ' +
      'any number.',
    read: (config) => config.limits.anonymousRequestsPerSecond,
  }),
  limitBlockingQueries: option({
    kind: integer({ min: 1, max: 50_000 }),
    file: ['limits', 'blocking_queries_per_token'],
    environment: 'REEVE_LIMITS_BLOCKING_QUERIES_PER_TOKEN',
    byDefault: always(1_024, '`1024`'),
    help: 'Blocking queries of one token that may wait at the same time, where ACLs are enabled.',
    read: (config) => config.limits.blockingQueriesPerToken,
  }),
  limitConnections: option({
    kind: integer({ min: 16, max: 1_000_000 }),
    file: ['limits', 'connections'],
    environment: 'REEVE_LIMITS_CONNECTIONS',
    byDefault: always(16_384, '`16384`'),
    help:
      'Connections that a server accepts, those of nodes included. Fewer where the process may ' +
      'open fewer files.',
    read: (config) => config.limits.connectionsMax,
  }),
}
