export { serveThread } from './serve-thread.ts'
export { ThreadQueue, type ThreadLimits, type ThreadResult } from './thread-queue.ts'
