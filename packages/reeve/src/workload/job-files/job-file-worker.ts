/** The thread that reads job files: tasks come in, outcomes go out, one after the other. */
import { randomInt } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import type { Random } from '../../kit/clock.ts'
import { runJobFileTask, type JobFileTask, type ReaderMessage } from './job-file-task.ts'

/** As many values as `randomInt` draws from; salts and identifiers are made of them. */
const DRAWS = 2 ** 47
const random: Random = { next: () => randomInt(DRAWS) / DRAWS }

function say(message: ReaderMessage): void {
  // A text is copied; there is nothing to hand over.
  parentPort?.postMessage(message, [])
}

// Only `JobFileReader` starts this file, and sends nothing else.
parentPort?.on('message', (task: JobFileTask) => say(runJobFileTask(task, random)))
say({ kind: 'ready' })
