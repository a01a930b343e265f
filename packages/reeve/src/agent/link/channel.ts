import type { StreamSocket } from '@reeve/kit/stream-socket.ts'

/** One connection to a server: texts in order, either way, until it closes. */
export interface Channel {
  /** Hands a text over; a channel that is closed drops it. */
  send(text: string): void
  /** Sets who gets each text that arrives; texts that came before are delivered then. */
  onMessage(receive: (text: string) => void): void
  /** Called once when the channel has ended, whichever side ended it; at once if it already has. */
  onClose(closed: (reason: string) => void): void
  /** Ends the channel; safe to call twice. */
  close(): void
  /**
   * Dials the same server for a stream that it asked for (contract: OpenMessage). A channel inside
   * one process has none. Rejects with a Fault `dial`.
   */
  openStream?(stream: string, secret: string): Promise<StreamSocket>
}

/** Opens a channel to a server, whichever one answers. Rejects with a Fault `dial`. */
export type Dial = () => Promise<Channel>

/**
 * Two ends of a channel inside one process. What one sends the other gets later, never within the
 * call.
 */
export function channelPair(): readonly [Channel, Channel] {
  const left = new MemoryEnd()
  const right = new MemoryEnd()
  left.join(right)
  right.join(left)
  return [left, right]
}

class MemoryEnd implements Channel {
  #peer: MemoryEnd | undefined
  #receive: ((text: string) => void) | undefined
  #closed: ((reason: string) => void) | undefined
  #reason: string | undefined
  readonly #unread: string[] = []

  join(peer: MemoryEnd): void {
    this.#peer = peer
  }

  send(text: string): void {
    if (this.#reason !== undefined) return
    queueMicrotask(() => this.#peer?.deliver(text))
  }

  onMessage(receive: (text: string) => void): void {
    this.#receive = receive
    for (const text of this.#unread.splice(0)) receive(text)
  }

  onClose(closed: (reason: string) => void): void {
    this.#closed = closed
    if (this.#reason !== undefined) closed(this.#reason)
  }

  close(): void {
    this.end('closed by this side')
    queueMicrotask(() => this.#peer?.end('closed by the other side'))
  }

  deliver(text: string): void {
    if (this.#reason !== undefined) return
    if (this.#receive === undefined) this.#unread.push(text)
    else this.#receive(text)
  }

  end(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#closed?.(reason)
  }
}
