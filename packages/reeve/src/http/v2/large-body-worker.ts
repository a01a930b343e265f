/** The thread that parses and validates large bodies of `/api/v2`. */
import { serveThread } from '../../threads/index.ts'
import { LargeBodyReader, type LargeBodyTask } from './large-body-task.ts'

const reader = new LargeBodyReader()

serveThread((task: LargeBodyTask) => reader.run(task))
