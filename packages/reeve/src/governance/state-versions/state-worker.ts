/** Entry point of the thread that parses large states. */
import { serveThread } from '../../threads/index.ts'
import { inspectState } from './inspect-state.ts'

serveThread((bytes: Uint8Array) => inspectState(bytes))
