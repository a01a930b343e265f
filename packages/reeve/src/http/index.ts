export { createApp } from './app.ts'
export type { App, AppOptions } from './app.ts'
export { openApiDocument } from './docs/openapi.ts'
export type {
  ForwardCallbacks,
  LeaderRoute,
  LeaderRouter,
  ReadConsistency,
  Staleness,
} from './pipeline/leader-routing.ts'
export type { ForwardReason } from './pipeline/region-route.ts'
export type { RegionRouter, RegionTarget, RegionUpgrade } from './pipeline/region-routing.ts'
export type { PortSecurity } from './port-security.ts'
export type { AgentInfo } from './v1/agent.ts'
export type { HttpLog } from './server.ts'
