import { parentPort, workerData } from 'node:worker_threads'
import { RowChecksumError } from '../row-format.ts'
import { openSharedLevelDb, packRows, rowPages } from '../level-db.ts'
import { PREFETCH_PAGES, type LoaderMessage, type LoaderCommand } from './row-thread.ts'

/** Flow control: number of pages that may be sent. */
class SendCredits {
  #pages = PREFETCH_PAGES
  #isClosed = false
  #wake: () => void = () => undefined

  handle(order: LoaderCommand): void {
    if (order === 'stop') this.#isClosed = true
    else this.#pages++
    this.#wake()
  }

  /** Waits for a credit and takes it. Returns false after stop. */
  async acquire(): Promise<boolean> {
    while (this.#pages === 0 && !this.#isClosed)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#pages--
    return !this.#isClosed
  }
}

const credits = new SendCredits()
// Only RowLoader starts this thread and sends messages.
parentPort?.on('message', (order: LoaderCommand) => credits.handle(order))

// Entry point of the thread of a RowLoader; the process already has the database open.
const level = await openSharedLevelDb(String(workerData))
try {
  await sendRows()
} catch (thrown) {
  if (!(thrown instanceof RowChecksumError)) throw thrown
  send({ kind: 'unreadable', key: thrown.key })
} finally {
  await level.close()
  parentPort?.close()
}

async function sendRows(): Promise<void> {
  for await (const rows of rowPages(level)) {
    if (!(await credits.acquire())) return
    send({ kind: 'page', page: packRows(rows) })
  }
  send({ kind: 'end' })
}

function send(message: LoaderMessage): void {
  // Pages are in shared memory, so nothing is transferred.
  parentPort?.postMessage(message, [])
}
