import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isStopped, isTiny } from '../transport/chunk-guard.ts'

/** Bounds on what is read of bodies that were rejected. */
export interface DrainLimits {
  /** Bodies that are read at once. */
  readonly bodiesMax: number
  /** Of one body. */
  readonly bytesMax: number
  readonly durationMsMax: number
}

export const DRAIN_LIMITS: DrainLimits = {
  bodiesMax: 16,
  bytesMax: 64 * 1024 * 1024,
  durationMsMax: 5_000,
}

/**
 * Bodies that were rejected before they had arrived. The rest of one is read and discarded, within
 * bounds: a client that sends all of a body before it reads the response would find a broken
 * connection instead of one. Past the bounds the connection ends with the response.
 */
export class RejectedBodies {
  readonly #limits: DrainLimits
  #draining = 0

  constructor(limits: DrainLimits = DRAIN_LIMITS) {
    this.#limits = limits
  }

  /** Decides what becomes of the body of a request that is answered now. */
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
      if (isTiny(++chunks, bytes) || bytes > bytesMax) raw.destroy()
    })
    raw.once('close', () => {
      clearTimeout(timer)
      this.#draining--
    })
    raw.once('error', () => undefined)
    raw.resume()
  }
}
