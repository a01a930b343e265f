import { Worker } from 'node:worker_threads'
import { RowChecksumError } from '../row-format.ts'
import type { PackedRows } from '../level-db.ts'

/** Messages of the thread: pages, then the end or the unreadable row. */
export type LoaderMessage =
  | { readonly kind: 'page'; readonly page: PackedRows }
  | { readonly kind: 'end' }
  | { readonly kind: 'unreadable'; readonly key: string }

/**
 * Messages to the thread: a page was consumed, or stop. The thread exits after closing the
 * database.
 */
export type LoaderCommand = 'taken' | 'stop'

/** Number of prefetched pages. */
export const PREFETCH_PAGES = 4

/**
 * Reads, verifies and packs rows on a worker thread while the main thread loads earlier ones into
 * tables (decision 0004).
 */
export class RowLoader {
  readonly #worker: Worker
  readonly #exited: Promise<void>
  readonly #messages: LoaderMessage[] = []
  #wake: () => void = () => undefined
  #failure: unknown

  constructor(folder: string) {
    this.#worker = new Worker(new URL('./row-worker.ts', import.meta.url), { workerData: folder })
    this.#worker.on('message', (message: LoaderMessage) => {
      this.#messages.push(message)
      this.#wake()
    })
    this.#worker.on('error', (thrown: unknown) => this.#fail(thrown))
    this.#exited = new Promise((resolve) => this.#worker.once('exit', () => resolve()))
    void this.#exited.then(() => this.#fail(new Error('the thread that reads rows has ended')))
  }

  /** The next page; undefined behind the last. */
  async nextPage(): Promise<PackedRows | undefined> {
    while (this.#messages.length === 0 && this.#failure === undefined)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    const message = this.#messages.shift()
    if (message === undefined) throw this.#failure
    if (message.kind === 'unreadable') throw new RowChecksumError(message.key)
    if (message.kind === 'end') return undefined
    this.#send('taken')
    return message.page
  }

  /** Resolves when the thread has closed the database. Safe to call twice. */
  async stop(): Promise<void> {
    this.#send('stop')
    await this.#exited
  }

  #send(order: LoaderCommand): void {
    // A string has nothing to transfer.
    this.#worker.postMessage(order, [])
  }

  #fail(thrown: unknown): void {
    this.#failure ??= thrown
    this.#wake()
  }
}
