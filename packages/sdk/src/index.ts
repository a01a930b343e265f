export { CLOCK_SKEW_MS_MAX, clockSkewMs, healthInError, HEALTHY } from './agent-health.ts'
export { compareStates, type StateChange } from './compare-states.ts'
export { createClient, type Client, type V1Methods, type V2Methods } from './client.ts'
export { governance, v1Calls, v2Calls, type CalledRoute } from './called-routes.ts'
export type { Answered, ClientOptions, Fetch, FetchInit } from './call/connection.ts'
export { ApiError, ConnectionError, ExecError, type ConnectionFailure } from './errors.ts'
export {
  isEventOf,
  type EventsRequest,
  type EventStreamLine,
  type TopicFilter,
} from './stream/events.ts'
export type { ExecInput, ExecSession } from './exec/types.ts'
export type { ExecRequest } from './exec/execute.ts'
export type { ByteFrame } from './stream/frames.ts'
export {
  findIncluded,
  included,
  resource,
  toMany,
  toOne,
  type ResourceIdentifier,
  type ResourceOf,
} from './json-api.ts'
export { lastSource } from './last-source.ts'
export { isLoopback } from './loopback.ts'
export { isPassing, type RetryOptions } from './retry.ts'
export { isPlain, valueText, type PlainObject } from './plain-value.ts'
export {
  planChanges,
  type PlanChanges,
  type PlannedAction,
  type PlannedChange,
} from './plan-changes.ts'
export { followRunLog, logLine } from './run-log.ts'
export type {
  AnswerHeaders,
  BlockingRouteId,
  CallOptions,
  DataOf,
  FrameRouteId,
  ItemOf,
  PagedRouteId,
  RawBody,
  Reply,
  RequestOf,
  RouteId,
} from './route-types.ts'
export type { Timing } from './timing.ts'
