export { CLOCK_SKEW_MS_MAX, clockSkewMs, healthInError, HEALTHY } from './agent-health.ts'
export { compareStates, type StateChange } from './compare-states.ts'
export { createClient, type Client, type V1Methods, type V2Methods } from './client.ts'
export { governance, v1RouteTable, v2RouteTable, type RouteInfo } from './called-routes.ts'
export type { FetchResponse, ClientOptions, Fetch, FetchInit } from './call/connection.ts'
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
  includedResources,
  resource,
  toMany,
  toOne,
  type ResourceIdentifier,
  type ResourceOf,
} from './json-api.ts'
export { fetchLastSubmission } from './last-source.ts'
export { isLoopback } from './loopback.ts'
export { isTransient, type RetryOptions } from './retry.ts'
export { isPlainObject, valueText, type PlainObject } from './plain-value.ts'
export {
  readPlanChanges,
  type PlanChanges,
  type PlannedAction,
  type PlannedChange,
} from './plan-changes.ts'
export { followRunLog, formatLogLine } from './run-log.ts'
export type {
  ResponseHeaders,
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
