export {
  overloadMessage,
  serveThread,
  type TaskOrigin,
  type ThreadLimits,
  ThreadQueue,
  type ThreadResult,
  transferableBuffers,
} from './thread-queue.ts'
export { TenantConcurrencyLimiter } from './tenant-limiter.ts'
