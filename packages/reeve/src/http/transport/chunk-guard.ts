import type { IncomingMessage } from 'node:http'
import { stopParsing } from './pipelining.ts'

/**
 * Limits of the chunks of a body: after the first ones they must have a minimum average size. Each
 * chunk is a call from the parser into JavaScript and a buffer of its own, so that a megabyte of
 * one-byte chunks takes as long as a thousand requests. The runtime's parser finishes the 64 KiB
 * that it has read, which cannot be prevented; the response to such a request is delayed for a few
 * seconds, so that a client cannot begin the next one at once.
 */
export const CHUNK_LIMITS = { chunksFree: 256, chunkBytesMin: 16, heldMs: 5_000 } as const

export function areChunksTooSmall(chunks: number, bytes: number): boolean {
  const { chunksFree, chunkBytesMin } = CHUNK_LIMITS
  return chunks > chunksFree && bytes < chunks * chunkBytesMin
}

/** Requests whose connection is no longer parsed, and their listeners. */
const stopped = new WeakSet<IncomingMessage>()
const listeners = new WeakMap<IncomingMessage, () => void>()

/**
 * Stops receiving a request once its chunks are too small. Chunks are counted as they are parsed,
 * because a queued request has no reader yet, and everything that has arrived is parsed at once.
 */
export function limitChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const push = request.push.bind(request)
  let chunks = 0
  let bytes = 0
  request.push = (chunk: Buffer | null, encoding) => {
    if (chunk === null) return push(chunk)
    bytes += chunk.length
    // The parser finishes the bytes it has read before it stops.
    if (stopped.has(request)) return true
    if (areChunksTooSmall(++chunks, bytes)) stopReceiving(request)
    return push(chunk, encoding)
  }
}

/** Stops reading a connection, which is closed after its response. */
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

/** Registers the listener for a stopped request, in place of an earlier one. */
export function onStopped(request: IncomingMessage, listener: () => void): void {
  listeners.set(request, listener)
}
