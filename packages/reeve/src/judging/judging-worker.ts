/** Entry point of the worker thread that evaluates policies. */
import { workerData } from 'node:worker_threads'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { serveThread } from '../threads/index.ts'
import { WorkerTaskHandler, transferredBuffers, type WorkerRequest } from './worker-tasks.ts'

const version: unknown = workerData
const handler = new WorkerTaskHandler({
  clock: { nowMs: () => Date.now() },
  version: typeof version === 'string' ? version : '',
  offsetAt: createTimeZoneOffset(),
})

serveThread((task: WorkerRequest) => handler.run(task), transferredBuffers)
