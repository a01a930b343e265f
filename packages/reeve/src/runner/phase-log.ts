import { createWriteStream, type WriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { RUN_LOG_LIMITS } from './limits.ts'
import type { Masking } from './masking.ts'
import type { PhaseClient } from './phase-client.ts'

/**
 * Log of a phase: lines are masked, written to a local file, and uploaded concurrently. If the
 * server is unavailable, the bytes are uploaded from the file later; the server skips bytes that it
 * already has.
 */
export class PhaseLog {
  readonly #path: string
  readonly #client: PhaseClient
  readonly #masking: Masking
  readonly #file: WriteStream
  #pending = ''
  #written = 0
  #flushed = 0
  #sent = 0
  #isCut = false
  #isClosed = false
  #wake: () => void = () => undefined
  #sending: Promise<void>

  constructor(path: string, client: PhaseClient, masking: Masking) {
    this.#path = path
    this.#client = client
    this.#masking = masking
    this.#file = createWriteStream(path, { mode: 0o600 })
    this.#sending = this.#send()
    // `close` reports the error; until then the promise is not awaited.
    this.#sending.catch(() => undefined)
  }

  /** Appends output in chunks of any size. Lines are kept whole so that they can be masked. */
  write(text: string): void {
    this.#pending += text
    const end = this.#pending.lastIndexOf('\n') + 1
    const isLong = this.#pending.length > RUN_LOG_LIMITS.lineChars
    if (end === 0 && !isLong) return
    const cut = end === 0 ? this.#pending.length : end
    this.#append(this.#pending.slice(0, cut))
    this.#pending = this.#pending.slice(cut)
  }

  line(text: string): void {
    this.write(`${text}\n`)
  }

  /** Waits until everything is uploaded; returns the length of the log. */
  async close(): Promise<number> {
    if (this.#pending !== '') this.#append(this.#pending)
    this.#pending = ''
    this.#isClosed = true
    this.#wake()
    await this.#sending
    return this.#sent
  }

  #append(text: string): void {
    if (this.#isCut) return
    let bytes = Buffer.from(this.#masking.mask(text), 'utf8')
    if (this.#written + bytes.length > RUN_LOG_LIMITS.bytes) {
      this.#isCut = true
      bytes = Buffer.from('\nThe log has reached its limit; what follows is not kept.\n', 'utf8')
    }
    this.#written += bytes.length
    const { length } = bytes
    this.#file.write(bytes, () => {
      this.#flushed += length
      this.#wake()
    })
  }

  async #send(): Promise<void> {
    const reader = await this.#opened()
    try {
      for (;;) {
        if (this.#sent < this.#flushed) await this.#sendNext(reader)
        else if (this.#isClosed && this.#sent === this.#written) return
        else await this.#somethingNew()
      }
    } finally {
      await reader.close()
      this.#file.end()
    }
  }

  /** The file exists once its stream has opened it. */
  async #opened() {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    this.#file.once('open', () => resolve(undefined))
    this.#file.once('error', reject)
    await promise
    return await open(this.#path, 'r')
  }

  async #sendNext(reader: Awaited<ReturnType<typeof open>>): Promise<void> {
    const size = Math.min(this.#flushed - this.#sent, RUN_LOG_LIMITS.chunkBytes)
    const chunk = Buffer.alloc(size)
    const { bytesRead } = await reader.read(chunk, 0, size, this.#sent)
    const path = `/log?offset=${this.#sent}`
    await this.#client.send({ method: 'PUT', path, body: chunk.subarray(0, bytesRead) })
    this.#sent += bytesRead
    // Lines that arrive one by one are uploaded together.
    if (!this.#isClosed && bytesRead < RUN_LOG_LIMITS.chunkBytes)
      await sleep(RUN_LOG_LIMITS.flushMs)
  }

  async #somethingNew(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#wake = () => resolve(undefined)
    if (this.#sent < this.#flushed || (this.#isClosed && this.#sent === this.#written)) return
    await promise
  }
}
