/** Entry point of the job file thread, which handles one task at a time. */
import { randomInt } from 'node:crypto'
import type { Random } from '@reeve/kit/clock.ts'
import { serveThread } from '../../threads/index.ts'
import { runJobFileTask, type JobFileTask } from './job-file-task.ts'

/** Number of values that `randomInt` draws from, for salts and identifiers. */
const RANDOM_VALUES = 2 ** 47
const random: Random = { next: () => randomInt(RANDOM_VALUES) / RANDOM_VALUES }

serveThread((task: JobFileTask) => runJobFileTask(task, random))
