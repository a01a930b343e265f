import { getHeapStatistics } from 'node:v8'
import { parentPort, type Transferable } from 'node:worker_threads'
import type { ThreadMessage } from './thread-queue.ts'

/**
 * The worker's side of a ThreadQueue: runs tasks one after the other. Outcomes are copied, except
 * for the buffers that `transfer` returns, which are moved.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- callers name their task
export function serveThread<Task, Outcome>(
  run: (task: Task) => Outcome,
  transfer: (outcome: Outcome) => readonly Transferable[] = () => [],
): void {
  const send = (message: ThreadMessage<Outcome>, moved: readonly Transferable[]): void => {
    parentPort?.postMessage(message, moved)
  }
  // The queue is the only sender, and sends nothing but tasks.
  parentPort?.on('message', (task: Task) => {
    const outcome = run(task)
    send({ kind: 'done', outcome, heldBytes: measureMemoryBytes() }, transfer(outcome))
  })
  send({ kind: 'ready' }, [])
}

/** Returns the size of this thread's heap and of the buffers outside it. */
function measureMemoryBytes(): number {
  const { total_heap_size, external_memory } = getHeapStatistics()
  return total_heap_size + external_memory
}

/** Returns the buffer of the bytes if it holds nothing else: only then it may be transferred. */
export function transferableBuffers(bytes: Uint8Array): readonly ArrayBuffer[] {
  const { buffer, byteLength } = bytes
  // Node carves small buffers from a shared pool.
  const isExclusive = buffer.byteLength === byteLength && byteLength > Buffer.poolSize
  return isExclusive && buffer instanceof ArrayBuffer ? [buffer] : []
}
