import type { Channel } from '../src/agent/index.ts'
import type { NodeSocket } from '../src/http/agent/node-channel.ts'

/** A channel of the simulated network that can ping its other end. */
export interface ServerChannel extends Channel {
  /** Pings the other end; `pong` is called when the response arrives. */
  ping(onPong: () => void): void
}

export interface ChannelSocketOptions {
  readonly channel: ServerChannel
  /** The process of this end has died: it no longer reads or writes. */
  readonly isDead: () => boolean
  /** Called for each message to a node. */
  readonly onSent: (text: string) => void
}

type Listener = (data: Buffer) => void

/** The server's end of a node channel, as the WebSocket that `NodeChannelServer` expects. */
export class ChannelSocket implements NodeSocket {
  readonly bufferedAmount = 0
  readonly OPEN = 1
  readonly #options: ChannelSocketOptions
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #unread: string[] = []
  #isPaused = false
  #isClosed = false

  constructor(options: ChannelSocketOptions) {
    this.#options = options
  }

  get readyState(): number {
    return this.#isClosed ? 3 : this.OPEN
  }

  /** Starts reading; all listeners are registered by now. */
  open(): void {
    const { channel } = this.#options
    channel.onClose(() => {
      this.#isClosed = true
      this.#emit('close', EMPTY)
    })
    channel.onMessage((text) => {
      if (this.#isPaused) this.#unread.push(text)
      else this.#emitMessage(text)
    })
  }

  on(event: 'message' | 'close' | 'pong' | 'error', listener: (data: never) => void): void {
    const listeners = this.#listeners.get(event) ?? new Set<Listener>()
    // Proof: messages are buffers, as for text frames; the other events have no data.
    this.#listeners.set(event, listeners.add(listener as Listener))
  }

  off(event: 'close' | 'pong', listener: () => void): void {
    this.#listeners.get(event)?.delete(listener)
  }

  send(bytes: Buffer): void {
    const { channel, isDead, onSent } = this.#options
    if (isDead()) return
    const text = bytes.toString()
    onSent(text)
    channel.send(text)
  }

  ping(): void {
    this.#options.channel.ping(() => this.#emit('pong', EMPTY))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    for (let text = this.#unread.shift(); text !== undefined; text = this.#unread.shift()) {
      this.#emitMessage(text)
      if (this.#isPaused) return
    }
  }

  close(): void {
    this.#options.channel.close()
  }

  terminate(): void {
    this.#options.channel.close()
  }

  #emitMessage(text: string): void {
    this.#emit('message', Buffer.from(text))
  }

  #emit(event: string, data: Buffer): void {
    if (event !== 'close' && this.#options.isDead()) return
    for (const listener of this.#listeners.get(event) ?? []) listener(data)
  }
}

const EMPTY = Buffer.alloc(0)
