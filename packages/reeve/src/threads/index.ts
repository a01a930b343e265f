export {
  type OverloadCause,
  overloadMessage,
  serveThread,
  type TaskOrigin,
  type ThreadLimits,
  ThreadQueue,
  type ThreadResult,
  transferableBuffers,
} from './thread-queue.ts'
export { TenantConcurrencyLimiter, type ConcurrencyLimits } from './tenant-limiter.ts'
