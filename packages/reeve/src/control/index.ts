export {
  AuditRetentionLoop,
  GarbageCollectionLoop,
  TokenExpiryLoop,
  VariableLockLoop,
} from './collection-loops.ts'
export { CheckpointLoop } from './checkpoint-loop.ts'
export { ClockLoop } from './clock-loop.ts'
export { StateView } from './state-view.ts'
export { EvaluationBroker } from './evaluation-broker.ts'
export { EvaluationLoop } from './evaluation-loop.ts'
export { DeploymentLoop } from './deployment-loop.ts'
export { DrainLoop } from './drain-loop.ts'
export { PeriodicLoop } from './periodic-loop.ts'
export {
  DEFAULT_HEARTBEAT_MS,
  DEFAULT_HEARTBEAT_SETTINGS,
  HeartbeatMonitor,
} from './heartbeat-monitor.ts'
