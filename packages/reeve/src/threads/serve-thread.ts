import { getHeapStatistics } from 'node:v8'
import { parentPort, type Transferable } from 'node:worker_threads'
import type { ThreadMessage } from './thread-queue.ts'

/**
 * The other end of a ThreadQueue: runs tasks one after the other. Outcomes are copied, except for
 * the buffers that `transfer` names, which are moved.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- callers name their task
export function serveThread<Task, Outcome>(
  run: (task: Task) => Outcome,
  transfer: (outcome: Outcome) => readonly Transferable[] = () => [],
): void {
  const send = (message: ThreadMessage<Outcome>, moved: readonly Transferable[]): void => {
    parentPort?.postMessage(message, moved)
  }
  // Only the queue starts the thread, and sends nothing else.
  parentPort?.on('message', (task: Task) => {
    const outcome = run(task)
    send({ kind: 'done', outcome, heldBytes: heldBytes() }, transfer(outcome))
  })
  send({ kind: 'ready' }, [])
}

/** The heap of this thread, and buffers beside it. */
function heldBytes(): number {
  const { total_heap_size, external_memory } = getHeapStatistics()
  return total_heap_size + external_memory
}

/** The buffer of the bytes if it holds nothing else: only then it may be moved. */
export function movable(bytes: Uint8Array): readonly ArrayBuffer[] {
  const { buffer, byteLength } = bytes
  // Node carves small buffers from a shared pool.
  const isOwn = buffer.byteLength === byteLength && byteLength > Buffer.poolSize
  return isOwn && buffer instanceof ArrayBuffer ? [buffer] : []
}
