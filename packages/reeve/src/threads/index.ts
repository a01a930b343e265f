export { movable, serveThread } from './serve-thread.ts'
export { TenantGate, type GateLimits } from './tenant-gate.ts'
export {
  overloadMessage,
  ThreadQueue,
  type OverloadCause,
  type TaskOrigin,
  type ThreadLimits,
  type ThreadResult,
} from './thread-queue.ts'
