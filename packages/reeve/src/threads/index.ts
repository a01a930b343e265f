export { transferableBuffers, serveThread } from './serve-thread.ts'
export { TenantConcurrencyLimiter, type ConcurrencyLimits } from './tenant-gate.ts'
export {
  overloadMessage,
  ThreadQueue,
  type OverloadCause,
  type TaskOrigin,
  type ThreadLimits,
  type ThreadResult,
} from './thread-queue.ts'
