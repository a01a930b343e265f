import { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '@reeve/kit/clock.ts'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import { LIMITS } from '../../model/index.ts'
import { isDecompressionError } from '../transport/compression.ts'
import { HttpError } from '../response.ts'
import { CHUNK_LIMITS, isStopped, areChunksTooSmall, onStopped } from '../transport/pipelining.ts'

/** Limits of bodies that are being received, and of large ones until their response is sent. */
export interface BodyLimits {
  /** Memory of these bodies in bytes: of one tenant, and in total. */
  readonly tenantBytesMax: number
  readonly bytesMax: number
  /** Minimum rate of a body after the grace period. */
  readonly bytesPerSecondMin: number
  readonly graceMs: number
}

export const BODY_LIMITS: BodyLimits = {
  tenantBytesMax: 128 * 1024 * 1024,
  bytesMax: 512 * 1024 * 1024,
  bytesPerSecondMin: 1_024,
  graceMs: 15_000,
}

/** Interval of the check for slow bodies. */
const CHECK_MS = 1_000
/** Initial buffer of a body of unknown length. */
const INITIAL_BUFFER_BYTES = 16 * 1024
/**
 * Bytes received before the buffer is allocated for the whole announced length. Growing it step by
 * step would later copy 16 MB at once, which blocks the event loop for 10 ms.
 */
const PREALLOCATE_BYTES_MIN = 256 * 1024
const NO_BYTES = Buffer.alloc(0)

interface BodyRequest {
  /** The tenant charged for the memory. */
  readonly tenant: string
  readonly bytesMax: number
  /**
   * Registers a callback for the end of the request: until then a large body is charged to its
   * tenant, because it may wait for a thread.
   */
  readonly onCompleted?: (release: () => void) => void
}

/**
 * Receives bodies, each into one buffer: in a list of chunks a body that is sent byte by byte would
 * take a hundred times its size. Incomplete bodies are limited together, in memory and time; large
 * ones count until their request is answered.
 */
export class RequestBodies {
  readonly #clock: Clock
  readonly #limits: BodyLimits
  readonly #pending = new Set<PendingBody>()
  readonly #bytesByTenant = new Map<string, number>()
  #bytes = 0
  #isChecking = false

  constructor(clock: Clock, limits: BodyLimits = BODY_LIMITS) {
    this.#clock = clock
    this.#limits = limits
  }

  /** Memory used by these bodies in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Returns the whole body: without a promise if it has arrived with its request, as most have.
   * Rejects with an HttpError, or with the error of decompression.
   */
  read(request: FastifyRequest, options: BodyRequest): Buffer | Promise<Buffer> {
    const { bytesMax } = options
    const { body: payload, raw, headers } = request
    if (!(payload instanceof Readable)) return NO_BYTES
    const contentLength = Number(headers['content-length'] ?? NaN)
    if (contentLength > bytesMax) throw bodyTooLarge(bytesMax)
    if (isStopped(raw)) throw tinyChunks()
    if (payload === raw && raw.complete && raw.readableLength <= bytesMax) {
      return readAll(raw)
    }
    return this.#receive(payload, { ...options, contentLength, raw })
  }

  #receive(payload: Readable, options: ReceivedRequest): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const body = new PendingBody(payload, options, {
        limits: this.#limits,
        startedMs: this.#clock.monotonicMs(),
        reserve: (bytes) => this.#reserve(options.tenant, bytes),
        settle: (result) => {
          this.#pending.delete(body)
          // Read the capacity now: a body that is transferred to a thread is empty here when it is
          // answered.
          const { capacity } = body
          const release = (): void => this.#release(options.tenant, capacity)
          const isCharged = !(result instanceof Error) && capacity > LIMITS.inlineBodyBytesMax
          if (isCharged && options.onCompleted !== undefined) options.onCompleted(release)
          else release()
          if (result instanceof Error) reject(result)
          else resolve(result)
        },
      })
      this.#pending.add(body)
      this.#scheduleCheck()
      onStopped(options.raw, () => body.stop())
      body.start()
    })
  }

  /** Reserves memory; false if the limit is exceeded. */
  #reserve(tenant: string, bytes: number): boolean {
    const ofTenant = (this.#bytesByTenant.get(tenant) ?? 0) + bytes
    if (ofTenant > this.#limits.tenantBytesMax || this.#bytes + bytes > this.#limits.bytesMax)
      return false
    this.#bytesByTenant.set(tenant, ofTenant)
    this.#bytes += bytes
    return true
  }

  #release(tenant: string, bytes: number): void {
    this.#bytes -= bytes
    const left = (this.#bytesByTenant.get(tenant) ?? 0) - bytes
    if (left > 0) this.#bytesByTenant.set(tenant, left)
    else this.#bytesByTenant.delete(tenant)
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#isChecking = false
    for (const body of this.#pending) body.check(nowMs)
    if (this.#pending.size > 0) this.#scheduleCheck()
  }

  #scheduleCheck(): void {
    if (this.#isChecking) return
    this.#isChecking = true
    this.#clock.after(CHECK_MS, () => this.#check())
  }
}

/**
 * Reads the chunks that have arrived. A flowing stream returns one chunk at a time, others return
 * all.
 */
function readAll(raw: IncomingMessage): Buffer {
  const chunks: Buffer[] = []
  for (;;) {
    // A request is a stream of bytes: it has no encoding set.
    const chunk = raw.read() as Buffer | null
    if (chunk === null) break
    chunks.push(chunk)
  }
  const [first = NO_BYTES] = chunks
  return chunks.length > 1 ? Buffer.concat(chunks) : first
}

interface ReceivedRequest extends BodyRequest {
  /** Length by the request's headers; NaN without one. */
  readonly contentLength: number
  readonly raw: IncomingMessage
}

interface PendingOptions {
  readonly limits: BodyLimits
  readonly startedMs: number
  readonly reserve: (bytes: number) => boolean
  readonly settle: (result: Buffer | Error) => void
}

/** A body that is being received. */
class PendingBody {
  readonly #payload: Readable
  readonly #bytesMax: number
  readonly #contentLength: number
  readonly #options: PendingOptions
  /** Whether this body owns its chunks; those of other streams may still be in use. */
  readonly #ownsChunks: boolean
  #buffer: Buffer = NO_BYTES
  #length = 0
  #chunks = 0
  #isSettled = false

  constructor(
    payload: Readable,
    { bytesMax, contentLength }: { readonly bytesMax: number; readonly contentLength: number },
    options: PendingOptions,
  ) {
    this.#payload = payload
    this.#bytesMax = bytesMax
    this.#contentLength = contentLength
    this.#options = options
    this.#ownsChunks = payload instanceof IncomingMessage
  }

  /** Size of the buffer in bytes. */
  get capacity(): number {
    return this.#buffer.length
  }

  start(): void {
    this.#payload.on('data', this.#onData).on('end', this.#onEnd)
    this.#payload.on('error', this.#onError).on('close', this.#onClose)
  }

  /** Fails a body whose chunks are too small. */
  stop(): void {
    if (!this.#isSettled) this.#settle(tinyChunks())
  }

  /** Fails a body that arrives too slowly. */
  check(nowMs: number): void {
    const { limits, startedMs } = this.#options
    const tookMs = nowMs - startedMs
    if (tookMs < limits.graceMs || this.#length * 1_000 >= limits.bytesPerSecondMin * tookMs) return
    const text = `the body arrives too slowly: at least ${limits.bytesPerSecondMin} bytes a second are needed`
    this.#settle(new HttpError(408, text))
  }

  readonly #onData = (chunk: Buffer): void => {
    const length = this.#length + chunk.length
    if (length > this.#bytesMax) return this.#settle(bodyTooLarge(this.#bytesMax))
    if (areChunksTooSmall(++this.#chunks, length)) return this.stop()
    if (length > this.#buffer.length && !this.#grow(length)) return
    chunk.copy(this.#buffer, this.#length)
    // The connection does not reuse whole buffers, which together are as large as the body itself.
    if (this.#ownsChunks && chunk.length === chunk.buffer.byteLength) releaseBytes(chunk)
    this.#length = length
  }

  /** Grows the buffer; false if the memory limit is exceeded, and the request is rejected. */
  #grow(length: number): boolean {
    const capacityMin = Math.max(length, 2 * this.#buffer.length, INITIAL_BUFFER_BYTES)
    const capacity = Math.min(
      this.#contentLength >= length ? this.#contentLength : capacityMin,
      this.#bytesMax,
    )
    // The announced length is allocated only once enough has arrived: otherwise a header alone
    // reserves memory.
    const hasProvenLength = length >= PREALLOCATE_BYTES_MIN
    const next = hasProvenLength
      ? capacity
      : Math.min(capacity, Math.max(4 * length, INITIAL_BUFFER_BYTES))
    if (!this.#options.reserve(next - this.#buffer.length)) {
      this.#settle(new HttpError(429, TOO_MANY_BYTES, { 'retry-after': '1' }))
      return false
    }
    const larger = Buffer.allocUnsafe(next)
    this.#buffer.copy(larger, 0, 0, this.#length)
    releaseBytes(this.#buffer)
    this.#buffer = larger
    return true
  }

  readonly #onEnd = (): void => this.#settle(this.#buffer.subarray(0, this.#length))

  readonly #onError = (error: Error): void =>
    // An invalid compressed body is reported as such; any other error means that the client hung
    // up.
    this.#settle(isDecompressionError(error) ? error : endedEarly(error.message))

  readonly #onClose = (): void => this.#settle(endedEarly('the connection was closed'))

  #settle(result: Buffer | Error): void {
    this.#isSettled = true
    this.#payload.off('data', this.#onData).off('end', this.#onEnd)
    this.#payload.off('error', this.#onError).off('close', this.#onClose)
    if (result instanceof Error) {
      this.#payload.pause()
      // Later errors have no receiver, and an unhandled one would end the process.
      this.#payload.on('error', () => undefined)
    }
    this.#options.settle(result)
    if (result instanceof Error) releaseBytes(this.#buffer)
  }
}

const TOO_MANY_BYTES =
  'too many bytes of request bodies are being received or processed; wait until other requests have finished'

function bodyTooLarge(bytesMax: number): HttpError {
  return new HttpError(413, `the request body is larger than ${bytesMax} bytes`)
}

function tinyChunks(): HttpError {
  const { chunkBytesMin } = CHUNK_LIMITS
  return new HttpError(
    400,
    `the body comes in chunks of less than ${chunkBytesMin} bytes on average; send larger ones`,
  )
}

function endedEarly(reason: string): HttpError {
  return new HttpError(400, `The body ended early: ${reason}`)
}

/** Limits of reading rejected bodies. */
interface DrainLimits {
  /** Number of bodies that are drained in parallel. */
  readonly bodiesMax: number
  /** Bytes of one body. */
  readonly bytesMax: number
  readonly durationMsMax: number
}

export const DRAIN_LIMITS: DrainLimits = {
  bodiesMax: 16,
  bytesMax: 64 * 1024 * 1024,
  durationMsMax: 5_000,
}

/**
 * Drains bodies that were rejected before they had arrived, within limits: a client that sends its
 * whole body before it reads the response would otherwise see a broken connection instead. Beyond
 * the limits the connection closes with the response.
 */
export class RejectedBodyDrain {
  readonly #limits: DrainLimits
  #draining = 0

  constructor(limits: DrainLimits = DRAIN_LIMITS) {
    this.#limits = limits
  }

  /** Drains the body of a request that is being answered, or closes its connection. */
  drain({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
    if (raw.complete && raw.readableLength === 0) return
    const { bodiesMax, bytesMax } = this.#limits
    const isLong = Number(headers['content-length'] ?? NaN) > bytesMax
    if (isLong || isStopped(raw) || this.#draining >= bodiesMax)
      return void reply.header('connection', 'close')
    void reply.removeHeader('connection')
    this.#discard(raw)
  }

  #discard(raw: IncomingMessage): void {
    const { bytesMax, durationMsMax } = this.#limits
    let bytes = 0
    let chunks = 0
    this.#draining++
    const timer = setTimeout(() => raw.destroy(), durationMsMax).unref()
    raw.unpipe()
    raw.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (areChunksTooSmall(++chunks, bytes) || bytes > bytesMax) raw.destroy()
    })
    raw.once('close', () => {
      clearTimeout(timer)
      this.#draining--
    })
    raw.once('error', () => undefined)
    raw.resume()
  }
}
