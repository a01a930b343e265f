export { CLOCK_SKEW_MS_MAX, clockSkewMs, healthInError, HEALTHY } from './agent-health.ts'
export {
  compareStates,
  followRunLog,
  formatLogLine,
  isPlainObject,
  type PlainObject,
  type PlanChanges,
  type PlannedAction,
  type PlannedChange,
  readPlanChanges,
  type StateChange,
  valueText,
} from './run-documents.ts'
export {
  type Client,
  createClient,
  fetchLastSubmission,
  type V1Methods,
  type V2Methods,
} from './client.ts'
export { governance, v1RouteTable, v2RouteTable, type RouteInfo } from './called-routes.ts'
export type { FetchResponse, ClientOptions, Fetch, FetchInit } from './call/connection.ts'
export { ApiError, ConnectionError, ExecError, type ConnectionFailure } from './errors.ts'
export {
  isEventOf,
  type EventsRequest,
  type EventStreamLine,
  type TopicFilter,
} from './stream/events.ts'
export type {
  BlockingRouteId,
  CallOptions,
  DataOf,
  ExecInput,
  ExecSession,
  FrameRouteId,
  ItemOf,
  PagedRouteId,
  RawBody,
  Reply,
  RequestOf,
  ResponseHeaders,
  RouteId,
} from './route-types.ts'
export type { ExecRequest } from './exec/session.ts'
export type { ByteFrame } from './stream/json-stream.ts'
export {
  findIncluded,
  includedResources,
  resource,
  toMany,
  toOne,
  type ResourceIdentifier,
  type ResourceOf,
} from './json-api.ts'
export { isLoopback } from './call/address.ts'
export { isTransient, type RetryOptions } from './retry.ts'
export type { Timing } from './timing.ts'
