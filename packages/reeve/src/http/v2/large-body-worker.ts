/** The thread that parses and validates large bodies of `/api/v2`. */
import { serveThread } from '../../threads/index.ts'
import { LargeBodyWorker, type LargeBodyTask } from './large-body-task.ts'

const reader = new LargeBodyWorker()

serveThread((task: LargeBodyTask) => reader.run(task))
