import { parentPort } from 'node:worker_threads'
import type { ThreadMessage } from './thread-queue.ts'

/** The other end of a ThreadQueue: does tasks one after the other. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- callers name their task
export function serveThread<Task>(run: (task: Task) => unknown): void {
  const say = (message: ThreadMessage<unknown>): void => {
    // Texts are copied; there is nothing to hand over.
    parentPort?.postMessage(message, [])
  }
  // Only the queue starts the thread, and sends nothing else.
  parentPort?.on('message', (task: Task) => say({ kind: 'done', outcome: run(task) }))
  say({ kind: 'ready' })
}
