import { Worker } from 'node:worker_threads'
import { UnreadableRow } from '../layout.ts'
import type { PackedRows } from './packed-rows.ts'

/** What the thread says: pages, then that there are no more, or why there cannot be. */
export type RowThreadMessage =
  | { readonly kind: 'page'; readonly page: PackedRows }
  | { readonly kind: 'end' }
  | { readonly kind: 'unreadable'; readonly key: string }

/** What it is told: that a page was taken, or to stop. It ends when it has closed the database. */
export type RowThreadOrder = 'taken' | 'stop'

/** How many pages it makes ahead. */
export const PAGES_AHEAD = 4

/**
 * Reads, checks and packs the rows of a database on a thread of its own, while this one puts those
 * that came before into tables (decision 0004).
 */
export class RowThread {
  readonly #worker: Worker
  readonly #ended: Promise<void>
  readonly #arrived: RowThreadMessage[] = []
  #wake: () => void = () => undefined
  #failure: unknown

  constructor(folder: string) {
    this.#worker = new Worker(new URL('./row-worker.ts', import.meta.url), { workerData: folder })
    this.#worker.on('message', (message: RowThreadMessage) => {
      this.#arrived.push(message)
      this.#wake()
    })
    this.#worker.on('error', (thrown: unknown) => this.#fail(thrown))
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()))
    void this.#ended.then(() => this.#fail(new Error('the thread that reads rows has ended')))
  }

  /** The next page; undefined behind the last. */
  async next(): Promise<PackedRows | undefined> {
    while (this.#arrived.length === 0 && this.#failure === undefined)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    const message = this.#arrived.shift()
    if (message === undefined) throw this.#failure
    if (message.kind === 'unreadable') throw new UnreadableRow(message.key)
    if (message.kind === 'end') return undefined
    this.#order('taken')
    return message.page
  }

  /** Resolves when the thread has closed the database. Safe to call twice. */
  async stop(): Promise<void> {
    this.#order('stop')
    await this.#ended
  }

  #order(order: RowThreadOrder): void {
    // A word; there is nothing to hand over.
    this.#worker.postMessage(order, [])
  }

  #fail(thrown: unknown): void {
    this.#failure ??= thrown
    this.#wake()
  }
}
