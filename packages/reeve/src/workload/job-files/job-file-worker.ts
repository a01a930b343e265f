/** The thread that reads job files: tasks come in, outcomes go out, one after the other. */
import { randomInt } from 'node:crypto'
import type { Random } from '@reeve/kit/clock.ts'
import { serveThread } from '../../threads/index.ts'
import { runJobFileTask, type JobFileTask } from './job-file-task.ts'

/** As many values as `randomInt` draws from; salts and identifiers are made of them. */
const DRAWS = 2 ** 47
const random: Random = { next: () => randomInt(DRAWS) / DRAWS }

serveThread((task: JobFileTask) => runJobFileTask(task, random))
