import type { WebSocket } from 'ws'
import { charsOf, joinedText, UTF8_BYTES_MAX, type PartedText } from '../../kit/parted-text.ts'

/** Of a message that is JSON, though it is given as bytes. */
const AS_TEXT = { binary: false } as const

/** What a connection that takes its messages slowly may keep, whatever the message has. */
const SCRATCH_BYTES = 256 * 1024
/** Longer texts get memory of their own. */
const SCRATCH_CHARS_MAX = SCRATCH_BYTES / UTF8_BYTES_MAX

/**
 * Sends texts as bytes: of a text the socket would count them first, and turn it into bytes after
 * that. A socket nearly always takes a message at once, so the next one goes into the same memory;
 * a filling cluster would otherwise allocate some kilobytes for each allocation.
 */
export class MessageSender {
  #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)

  send(socket: WebSocket, text: PartedText): void {
    // What waits already would keep the memory, with each message that joins it.
    if (socket.bufferedAmount > 0 || charsOf(text) > SCRATCH_CHARS_MAX)
      return socket.send(Buffer.from(joinedText(text)), AS_TEXT)
    let end = 0
    if (typeof text === 'string') end = this.#scratch.write(text)
    else for (const part of text) end += this.#scratch.write(part, end)
    socket.send(this.#scratch.subarray(0, end), AS_TEXT)
    // Not taken yet: the socket still needs what was written.
    if (socket.bufferedAmount > 0) this.#scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
  }
}
