import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isStopped, areChunksTooSmall } from '../transport/chunk-guard.ts'

/** Limits of reading rejected bodies. */
export interface DrainLimits {
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
