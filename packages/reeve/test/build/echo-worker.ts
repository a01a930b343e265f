/** A thread that gives each task back as its outcome. */
import { serveThread } from '../../src/threads/index.ts'

serveThread((task: string) => task)
