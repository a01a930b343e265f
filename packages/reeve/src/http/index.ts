export { createApp } from './app.ts'
export type { App, AppOptions } from './app.ts'
export { openApiDocument } from './docs/openapi.ts'
export { routeSignatures } from './docs/signatures.ts'
export type {
  ForwardCallbacks,
  ForwardTarget,
  LeaderRoute,
  LeaderRouter,
  ReadConsistency,
  Staleness,
} from './pipeline/leader-routing.ts'
export type { ForwardReason } from './pipeline/region-route.ts'
export type { RegionRouter, RegionTarget, RegionUpgrade } from './pipeline/region-routing.ts'
export { BODY_LIMITS } from './pipeline/request-body.ts'
export type { BodyLimits } from './pipeline/request-body.ts'
export { SCHEDULER_LIMITS } from './pipeline/request-scheduler.ts'
export type { SchedulerLimits } from './pipeline/request-scheduler.ts'
export { CHUNK_LIMITS } from './transport/chunk-guard.ts'
export { isOutOfFiles, openFilesMax } from './transport/open-files.ts'
export { PIPELINING_LIMITS } from './transport/pipelining.ts'
export type { PipeliningLimits } from './transport/pipelining.ts'
export type { GaugeSources } from './metrics/metrics.ts'
export type { ListenerTls } from './port-security.ts'
export type { AgentInfo, ForceLeaveOutcome, NodeServers } from './v1/agent.ts'
export { snapshotChunks } from './v1/snapshot.ts'
export type { HttpLog } from './server.ts'
