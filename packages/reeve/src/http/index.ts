export { createApp } from './app.ts'
export type { App, AppOptions } from './app.ts'
export { openApiDocument, routeSignatures } from './docs/openapi.ts'
export type {
  ForwardCallbacks,
  ForwardTarget,
  LeaderRoute,
  LeaderRouter,
  ReadConsistency,
  Staleness,
} from './pipeline/leader-routing.ts'
export type {
  ForwardReason,
  RegionRouter,
  RegionTarget,
  RegionUpgrade,
} from './pipeline/region-routing.ts'
export { BODY_LIMITS } from './pipeline/request-body.ts'
export type { BodyLimits } from './pipeline/request-body.ts'
export { SCHEDULER_LIMITS } from './pipeline/request-scheduler.ts'
export type { SchedulerLimits } from './pipeline/request-scheduler.ts'
export { CHUNK_LIMITS, PIPELINING_LIMITS, type PipeliningLimits } from './transport/pipelining.ts'
export { isOutOfFiles, openFilesMax } from './transport/connections.ts'
export type { GaugeSources } from './metrics/metrics.ts'
export type { ListenerTls } from './server.ts'
export type { AgentInfo, ForceLeaveOutcome, NodeServers } from './v1/agent.ts'
export { snapshotChunks, type SnapshotRestorer } from './v1/operator.ts'
