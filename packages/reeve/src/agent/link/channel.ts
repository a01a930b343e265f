import type { StreamSocket } from '@reeve/kit/stream-socket.ts'

/** A connection to a server: ordered text messages in both directions until it closes. */
export interface Channel {
  /** Sends a message; a closed channel drops it. */
  send(text: string): void
  /** Sets the message listener; messages that arrived before are delivered then. */
  onMessage(receive: (text: string) => void): void
  /** Called once when the channel has closed, whichever side closed it; immediately if it has. */
  onClose(closed: (reason: string) => void): void
  /** Closes the channel. Idempotent. */
  close(): void
  /**
   * Dials the same server for a stream that it requested (contract: OpenMessage). In-process
   * channels have no streams. Rejects with a Fault `dial`.
   */
  openStream?(stream: string, secret: string): Promise<StreamSocket>
}

/** Opens a channel to any server. Rejects with a Fault `dial`. */
export type Dialer = () => Promise<Channel>

/** Two connected channels in one process. Messages are delivered asynchronously. */
export function memoryChannelPair(): readonly [Channel, Channel] {
  const left = new MemoryChannel()
  const right = new MemoryChannel()
  left.connectTo(right)
  right.connectTo(left)
  return [left, right]
}

class MemoryChannel implements Channel {
  #peer: MemoryChannel | undefined
  #messageListener: ((text: string) => void) | undefined
  #closeListener: ((reason: string) => void) | undefined
  #closeReason: string | undefined
  readonly #undelivered: string[] = []

  connectTo(peer: MemoryChannel): void {
    this.#peer = peer
  }

  send(text: string): void {
    if (this.#closeReason !== undefined) return
    queueMicrotask(() => this.#peer?.deliver(text))
  }

  onMessage(listener: (text: string) => void): void {
    this.#messageListener = listener
    for (const text of this.#undelivered.splice(0)) listener(text)
  }

  onClose(listener: (reason: string) => void): void {
    this.#closeListener = listener
    if (this.#closeReason !== undefined) listener(this.#closeReason)
  }

  close(): void {
    this.end('closed by this side')
    queueMicrotask(() => this.#peer?.end('closed by the other side'))
  }

  deliver(text: string): void {
    if (this.#closeReason !== undefined) return
    if (this.#messageListener === undefined) this.#undelivered.push(text)
    else this.#messageListener(text)
  }

  end(reason: string): void {
    if (this.#closeReason !== undefined) return
    this.#closeReason = reason
    this.#closeListener?.(reason)
  }
}
