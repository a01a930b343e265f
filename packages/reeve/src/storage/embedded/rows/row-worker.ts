import { parentPort, workerData } from 'node:worker_threads'
import { UnreadableRow } from '../layout.ts'
import { joinLevel, rawRowPages } from '../level.ts'
import { packRows } from './packed-rows.ts'
import { PAGES_AHEAD, type RowThreadMessage, type RowThreadOrder } from './row-thread.ts'

/** How many pages may still be sent. */
class Room {
  #pages = PAGES_AHEAD
  #isClosed = false
  #wake: () => void = () => undefined

  obey(order: RowThreadOrder): void {
    if (order === 'stop') this.#isClosed = true
    else this.#pages++
    this.#wake()
  }

  /** Waits until there is room for a page, and takes it. False when nobody wants one any more. */
  async take(): Promise<boolean> {
    while (this.#pages === 0 && !this.#isClosed)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#pages--
    return !this.#isClosed
  }
}

const room = new Room()
// Only RowThread starts the thread, and says nothing else.
parentPort?.on('message', (order: RowThreadOrder) => room.obey(order))

// The thread of a RowThread: the database is open in its process already.
const level = await joinLevel(String(workerData))
try {
  await sendRows()
} catch (thrown) {
  if (!(thrown instanceof UnreadableRow)) throw thrown
  say({ kind: 'unreadable', key: thrown.key })
} finally {
  await level.close()
  parentPort?.close()
}

async function sendRows(): Promise<void> {
  for await (const rows of rawRowPages(level)) {
    if (!(await room.take())) return
    say({ kind: 'page', page: packRows(rows) })
  }
  say({ kind: 'end' })
}

function say(message: RowThreadMessage): void {
  // Pages are shared; there is nothing to hand over.
  parentPort?.postMessage(message, [])
}
