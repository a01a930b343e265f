import { createWriteStream, type WriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PhaseClient, RUN_LOG_LIMITS } from './phase-client.ts'

/**
 * Log of a phase: lines are masked, written to a local file, and uploaded concurrently. If the
 * server is unavailable, the bytes are uploaded from the file later; the server skips bytes that it
 * already has.
 */
export class PhaseLog {
  readonly #path: string
  readonly #client: PhaseClient
  readonly #masking: SecretMasker
  readonly #file: WriteStream
  #pending = ''
  #writtenBytes = 0
  #flushedBytes = 0
  #sentBytes = 0
  #isTruncated = false
  #isClosed = false
  #notify: () => void = () => undefined
  #uploading: Promise<void>

  constructor(path: string, client: PhaseClient, masking: SecretMasker) {
    this.#path = path
    this.#client = client
    this.#masking = masking
    this.#file = createWriteStream(path, { mode: 0o600 })
    this.#uploading = this.#upload()
    // `close` reports the error; until then the promise is not awaited.
    this.#uploading.catch(() => undefined)
  }

  /** Appends output in chunks of any size. Lines are kept whole so that they can be masked. */
  write(text: string): void {
    this.#pending += text
    const end = this.#pending.lastIndexOf('\n') + 1
    const isLong = this.#pending.length > RUN_LOG_LIMITS.lineChars
    if (end === 0 && !isLong) return
    const splitAt = end === 0 ? this.#pending.length : end
    this.#append(this.#pending.slice(0, splitAt))
    this.#pending = this.#pending.slice(splitAt)
  }

  line(text: string): void {
    this.write(`${text}\n`)
  }

  /** Waits until everything is uploaded; returns the length of the log. */
  async close(): Promise<number> {
    if (this.#pending !== '') this.#append(this.#pending)
    this.#pending = ''
    this.#isClosed = true
    this.#notify()
    await this.#uploading
    return this.#sentBytes
  }

  #append(text: string): void {
    if (this.#isTruncated) return
    let bytes = Buffer.from(this.#masking.mask(text), 'utf8')
    if (this.#writtenBytes + bytes.length > RUN_LOG_LIMITS.bytes) {
      this.#isTruncated = true
      bytes = Buffer.from('\nThe log has reached its limit; what follows is not kept.\n', 'utf8')
    }
    this.#writtenBytes += bytes.length
    const { length } = bytes
    this.#file.write(bytes, () => {
      this.#flushedBytes += length
      this.#notify()
    })
  }

  async #upload(): Promise<void> {
    const reader = await this.#openReader()
    try {
      for (;;) {
        if (this.#sentBytes < this.#flushedBytes) await this.#uploadChunk(reader)
        else if (this.#isClosed && this.#sentBytes === this.#writtenBytes) return
        else await this.#waitForData()
      }
    } finally {
      await reader.close()
      this.#file.end()
    }
  }

  /** The file exists once its stream has opened it. */
  async #openReader() {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    this.#file.once('open', () => resolve(undefined))
    this.#file.once('error', reject)
    await promise
    return await open(this.#path, 'r')
  }

  async #uploadChunk(reader: Awaited<ReturnType<typeof open>>): Promise<void> {
    const size = Math.min(this.#flushedBytes - this.#sentBytes, RUN_LOG_LIMITS.chunkBytes)
    const chunk = Buffer.alloc(size)
    const { bytesRead } = await reader.read(chunk, 0, size, this.#sentBytes)
    const path = `/log?offset=${this.#sentBytes}`
    await this.#client.send({ method: 'PUT', path, body: chunk.subarray(0, bytesRead) })
    this.#sentBytes += bytesRead
    // Lines that arrive one by one are uploaded together.
    if (!this.#isClosed && bytesRead < RUN_LOG_LIMITS.chunkBytes)
      await sleep(RUN_LOG_LIMITS.flushMs)
  }

  async #waitForData(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#notify = () => resolve(undefined)
    if (
      this.#sentBytes < this.#flushedBytes ||
      (this.#isClosed && this.#sentBytes === this.#writtenBytes)
    )
      return
    await promise
  }
}

/** Shorter values occur in many lines; masking them would make the log unreadable. */
const SECRET_LENGTH_MIN = 4
const MASK = '***'

/** Replaces secrets in lines of a log before they leave the node. */
export class SecretMasker {
  readonly #patterns: readonly string[]

  constructor(secrets: readonly string[]) {
    const forms = secrets.flatMap((secret) => [...secret.split('\n'), secret]).flatMap(encodedForms)
    // Longest first, because one secret may contain another.
    this.#patterns = [...new Set(forms)]
      .filter(({ length }) => length >= SECRET_LENGTH_MIN)
      .toSorted((a, b) => b.length - a.length)
  }

  mask(line: string): string {
    let masked = line
    for (const pattern of this.#patterns) masked = masked.replaceAll(pattern, MASK)
    return masked
  }
}

/** Returns the forms in which a secret may occur: plain, base64, and JSON-escaped. */
function encodedForms(secret: string): readonly string[] {
  if (secret.length < SECRET_LENGTH_MIN) return []
  const base64 = Buffer.from(secret, 'utf8').toString('base64').replace(/=+$/, '')
  return [secret, base64, JSON.stringify(secret).slice(1, -1)]
}
