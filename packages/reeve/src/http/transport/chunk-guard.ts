import type { IncomingMessage } from 'node:http'
import { stopParsing } from './pipelining.ts'

/**
 * Bounds on the chunks of a body: after the first ones they must have some size on average. Each
 * chunk is a call from the parser into JavaScript and a buffer of its own, so that a megabyte of
 * one-byte chunks takes as long as a thousand requests. The runtime's parser finishes the 64 KiB
 * that it has read, which cannot be prevented; the response to such a request is held back for a
 * few seconds, so that a client cannot begin the next one at once.
 */
export const CHUNK_LIMITS = { chunksFree: 256, chunkBytesMin: 16, heldMs: 5_000 } as const

export function isTiny(chunks: number, bytes: number): boolean {
  const { chunksFree, chunkBytesMin } = CHUNK_LIMITS
  return chunks > chunksFree && bytes < chunks * chunkBytesMin
}

/** Requests whose connection is not parsed any further, and who is told of it. */
const stopped = new WeakSet<IncomingMessage>()
const listeners = new WeakMap<IncomingMessage, () => void>()

/**
 * Stops to receive a request once its chunks are too small. Counted as they are parsed, because a
 * request that waits for its turn has no reader yet, and all of what arrived is parsed at once.
 */
export function guardChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const push = request.push.bind(request)
  let chunks = 0
  let bytes = 0
  request.push = (chunk: Buffer | null, encoding) => {
    if (chunk === null) return push(chunk)
    bytes += chunk.length
    // The parser finishes what it has read before it stops.
    if (stopped.has(request)) return true
    if (isTiny(++chunks, bytes)) stopReceiving(request)
    return push(chunk, encoding)
  }
}

/** Gives a connection up: nothing more of it is read, and it ends with its response. */
export function stopReceiving(request: IncomingMessage): void {
  if (stopped.has(request)) return
  stopped.add(request)
  stopParsing(request.socket)
  request.socket.pause()
  listeners.get(request)?.()
}

export function isStopped(request: IncomingMessage): boolean {
  return stopped.has(request)
}

/** The last listener counts. */
export function onStopped(request: IncomingMessage, listener: () => void): void {
  listeners.set(request, listener)
}
