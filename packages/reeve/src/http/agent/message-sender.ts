import {
  chunksLength,
  joinChunks,
  UTF8_BYTES_PER_UNIT_MAX,
  type StringChunks,
} from '@reeve/kit/string-chunks.ts'

/** Of a message that is JSON, though it is given as bytes. */
const AS_TEXT = { binary: false } as const

/** What is sent on: a WebSocket, or whatever stands for one. */
export interface SendSocket {
  readonly bufferedAmount: number
  send(bytes: Buffer, options: { readonly binary: boolean }): void
}

/** What a connection may keep when it stops to take its messages at once. */
const SCRATCH_BYTES = 256 * 1024
/** Longer texts get memory of their own. */
const SCRATCH_CHARS_MAX = SCRATCH_BYTES / UTF8_BYTES_PER_UNIT_MAX

/**
 * Sends texts as bytes: of a text the socket would count them first, and turn it into bytes after
 * that. Most sockets take a message at once, so the next one goes into the same memory; a filling
 * cluster would otherwise allocate some kilobytes for each allocation. One that takes it later, as
 * every one with TLS does, would keep all of that memory: its messages get their own.
 */
export class MessageSender {
  #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
  /** Sockets that took their last message at once. */
  readonly #quick = new WeakSet<SendSocket>()

  send(socket: SendSocket, text: StringChunks): void {
    const isShared =
      this.#quick.has(socket) &&
      socket.bufferedAmount === 0 &&
      chunksLength(text) <= SCRATCH_CHARS_MAX
    const bytes = isShared ? this.#inScratch(text) : Buffer.from(joinChunks(text))
    socket.send(bytes, AS_TEXT)
    if (socket.bufferedAmount === 0) this.#quick.add(socket)
    else {
      this.#quick.delete(socket)
      // The socket still needs what was written.
      if (isShared) this.#scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
    }
  }

  #inScratch(text: StringChunks): Buffer {
    let end = 0
    if (typeof text === 'string') end = this.#scratch.write(text)
    else for (const part of text) end += this.#scratch.write(part, end)
    return this.#scratch.subarray(0, end)
  }
}
