/** The thread that asks policies. */
import { workerData } from 'node:worker_threads'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { serveThread } from '../threads/index.ts'
import { JudgingDesk, movedBuffers, type JudgingTask } from './judging-task.ts'

const version: unknown = workerData
const desk = new JudgingDesk({
  clock: { nowMs: () => Date.now() },
  version: typeof version === 'string' ? version : '',
  offsetAt: createTimeZoneOffset(),
})

serveThread((task: JudgingTask) => desk.run(task), movedBuffers)
