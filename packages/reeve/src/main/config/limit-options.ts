import { LIMITS } from '../../model/index.ts'
import { constant, option } from './option.ts'
import { integer } from './value-kinds.ts'

const RATE_MAX = 1_000_000
const STREAMS_MAX = 50_000

function codeDefault(value: number) {
  return constant(value, `\`${value}\``)
}

/** Settings of the block `limits`, which bounds the load that one client may cause. */
export const limitOptions = {
  limitRequests: option({
    kind: integer({ min: 0, max: RATE_MAX }),
    file: ['limits', 'requests_per_second'],
    environment: 'REEVE_LIMITS_REQUESTS_PER_SECOND',
    byDefault: constant(5_000, '`5000`'),
    help: 'Requests each second of one token, where ACLs are enabled; 0 is any number.',
    read: (config) => config.limits.requestsPerSecond,
  }),
  limitAnonymousRequests: option({
    kind: integer({ min: 0, max: RATE_MAX }),
    file: ['limits', 'anonymous_requests_per_second'],
    environment: 'REEVE_LIMITS_ANONYMOUS_REQUESTS_PER_SECOND',
    byDefault: constant(1_000, '`1000`'),
    help:
      'Requests each second of one address without a valid token, where ACLs are enabled; 0 is ' +
      'any number.',
    read: (config) => config.limits.anonymousRequestsPerSecond,
  }),
  limitBlockingQueries: option({
    kind: integer({ min: 1, max: 50_000 }),
    file: ['limits', 'blocking_queries_per_token'],
    environment: 'REEVE_LIMITS_BLOCKING_QUERIES_PER_TOKEN',
    byDefault: constant(1_024, '`1024`'),
    help: 'Blocking queries of one token that may wait at the same time, where ACLs are enabled.',
    read: (config) => config.limits.blockingQueriesPerToken,
  }),
  limitEventStreams: option({
    kind: integer({ min: 1, max: STREAMS_MAX }),
    file: ['limits', 'event_streams_per_token'],
    environment: 'REEVE_LIMITS_EVENT_STREAMS_PER_TOKEN',
    byDefault: codeDefault(LIMITS.eventStreamsPerToken),
    help: 'Event streams that one token may have open at the same time, where ACLs are enabled.',
    read: (config) => config.limits.eventStreamsPerToken,
  }),
  limitExecSessions: option({
    kind: integer({ min: 1, max: STREAMS_MAX }),
    file: ['limits', 'exec_sessions_per_token'],
    environment: 'REEVE_LIMITS_EXEC_SESSIONS_PER_TOKEN',
    byDefault: codeDefault(LIMITS.execSessionsPerToken),
    help:
      'Exec sessions and job actions that one token may have open at the same time, where ACLs ' +
      'are enabled.',
    read: (config) => config.limits.execSessionsPerToken,
  }),
  limitLogStreams: option({
    kind: integer({ min: 1, max: STREAMS_MAX }),
    file: ['limits', 'log_streams_per_token'],
    environment: 'REEVE_LIMITS_LOG_STREAMS_PER_TOKEN',
    byDefault: codeDefault(LIMITS.logStreamsPerToken),
    help:
      'Logs and files that one token may read or follow at the same time, where ACLs are enabled. ' +
      'The merged log of a job takes one for each task.',
    read: (config) => config.limits.logStreamsPerToken,
  }),
  limitConnections: option({
    kind: integer({ min: 16, max: 1_000_000 }),
    file: ['limits', 'connections'],
    environment: 'REEVE_LIMITS_CONNECTIONS',
    byDefault: constant(16_384, '`16384`'),
    help:
      'Connections that a server accepts, those of nodes included. Fewer where the process may ' +
      'open fewer files.',
    read: (config) => config.limits.connectionsMax,
  }),
}
