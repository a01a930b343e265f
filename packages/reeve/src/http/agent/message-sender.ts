import {
  chunksLength,
  joinChunks,
  UTF8_BYTES_PER_UNIT_MAX,
  type StringChunks,
} from '@reeve/kit/string-chunks.ts'

/** Send option: JSON text, although it is passed as bytes. */
const AS_TEXT = { binary: false } as const

/** The part of a WebSocket that sending needs. */
export interface SendSocket {
  readonly bufferedAmount: number
  send(bytes: Buffer, options: { readonly binary: boolean }): void
}

/** Size of the scratch buffer, which a connection retains once it no longer writes immediately. */
const SCRATCH_BYTES = 256 * 1024
/** Longest text that is encoded into the scratch buffer; longer ones get a buffer of their own. */
const SCRATCH_CHARS_MAX = SCRATCH_BYTES / UTF8_BYTES_PER_UNIT_MAX

/**
 * Encodes and sends texts. Given a string, the socket would measure it first and encode it after
 * that. Most sockets write a message at once, so the next message reuses the same scratch buffer:
 * while a cluster fills, several kilobytes would otherwise be allocated for each allocation. A
 * socket that writes later, as every TLS socket does, would retain the whole scratch buffer, so its
 * messages get buffers of their own.
 */
export class WebSocketWriter {
  #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
  /** Sockets that wrote their last message at once. */
  readonly #immediateSockets = new WeakSet<SendSocket>()

  send(socket: SendSocket, text: StringChunks): void {
    const isShared =
      this.#immediateSockets.has(socket) &&
      socket.bufferedAmount === 0 &&
      chunksLength(text) <= SCRATCH_CHARS_MAX
    const bytes = isShared ? this.#encodeInScratch(text) : Buffer.from(joinChunks(text))
    socket.send(bytes, AS_TEXT)
    if (socket.bufferedAmount === 0) this.#immediateSockets.add(socket)
    else {
      this.#immediateSockets.delete(socket)
      // The socket still references the scratch buffer.
      if (isShared) this.#scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
    }
  }

  #encodeInScratch(text: StringChunks): Buffer {
    let end = 0
    if (typeof text === 'string') end = this.#scratch.write(text)
    else for (const part of text) end += this.#scratch.write(part, end)
    return this.#scratch.subarray(0, end)
  }
}
