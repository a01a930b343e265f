import type { Clock } from './clock.ts'
import { encodeUtf8 } from './utf8.ts'

/** What is used of a WebSocket. */
export interface SocketLike {
  /** Bytes handed to `send` that the network has not taken yet. */
  readonly bufferedAmount: number
  send(
    data: string | Uint8Array,
    options: { readonly binary: boolean },
    done: (error?: Error | null) => void,
  ): void
  ping(): void
  /** Stops reading; what the other side sends then waits with it. */
  pause(): void
  resume(): void
  close(code?: number, reason?: string): void
  terminate(): void
}

export interface StreamSocketLimits {
  /** How much may wait to be sent before the sender has to. */
  readonly buffers: StreamBuffers
  /** Time between two signs of life, and how long none may come from the other side. */
  readonly pingMs: number
  readonly silentMsMax: number
}

export interface StreamBufferLimits {
  readonly streamBytesMax: number
  readonly streamBytesMin: number
  readonly totalBytesMax: number
}

/** The bytes that streams may buffer together: the more streams are open, the less each gets. */
export class StreamBuffers {
  readonly #limits: StreamBufferLimits
  #streams = 0

  constructor(limits: StreamBufferLimits) {
    this.#limits = limits
  }

  /** Bytes that one stream may buffer now. */
  get bytesMax(): number {
    const { streamBytesMax, streamBytesMin, totalBytesMax } = this.#limits
    return Math.max(streamBytesMin, Math.min(streamBytesMax, totalBytesMax / this.#streams))
  }

  opened(): void {
    this.#streams += 1
  }

  closed(): void {
    this.#streams -= 1
  }
}

type Receive = (data: Uint8Array, isText: boolean) => void
type Closed = (code: number, reason: string) => void

/**
 * One end of a stream over a WebSocket: a sender that can wait, a receiver that can make the other
 * side wait, and an end that is always noticed. Nothing is read before `onMessage`. Whoever made
 * the socket tells it what happened by `received`, `heard` and `closed`.
 */
export class StreamSocket {
  readonly #socket: SocketLike
  readonly #clock: Clock
  readonly #limits: StreamSocketLimits
  #receive: Receive | undefined
  readonly #unread: (readonly [Uint8Array, boolean])[] = []
  readonly #listeners: Closed[] = []
  #drained: PromiseWithResolvers<void> | undefined
  #end: { readonly code: number; readonly reason: string } | undefined
  #isPaused = true
  #isClosing = false
  #heardMs: number
  #cancelPing: () => void = () => undefined

  constructor(socket: SocketLike, clock: Clock, limits: StreamSocketLimits) {
    this.#socket = socket
    this.#clock = clock
    this.#limits = limits
    this.#heardMs = clock.monotonicMs()
    limits.buffers.opened()
    socket.pause()
    this.#pingLater()
  }

  get isClosed(): boolean {
    return this.#end !== undefined
  }

  /** Whether this side does not read at present. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Whether the sender should wait for `drained` before it sends more. */
  get isFull(): boolean {
    return !this.isClosed && this.#socket.bufferedAmount > this.#limits.buffers.bytesMax
  }

  /** Hands a message over; a stream that has ended drops it. */
  send(data: string | Uint8Array, isText = typeof data === 'string'): void {
    if (this.isClosed) return
    this.#socket.send(data, { binary: !isText }, () => this.#sent())
  }

  /** Settles when there is room again, or nobody reads any more. */
  drained(): Promise<void> {
    if (!this.isFull) return Promise.resolve()
    this.#drained ??= Promise.withResolvers<void>()
    return this.#drained.promise
  }

  /** Sets who gets the messages, and begins to read. */
  onMessage(receive: Receive): void {
    this.#receive = receive
    for (const [data, isText] of this.#unread.splice(0)) receive(data, isText)
    // Unless the one who listens has had enough already.
    if (this.#receive === receive) this.resume()
  }

  /** Stops reading and forgets who listened, until the next `onMessage`. */
  hold(): void {
    this.#receive = undefined
    this.pause()
  }

  pause(): void {
    if (this.#isPaused || this.isClosed) return
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#isPaused || this.isClosed) return
    this.#isPaused = false
    // Silence while this side did not listen says nothing.
    this.#heardMs = this.#clock.monotonicMs()
    this.#socket.resume()
  }

  /** Calls back once when the stream has ended; at once if it already has. */
  onClose(closed: Closed): void {
    if (this.#end === undefined) this.#listeners.push(closed)
    else closed(this.#end.code, this.#end.reason)
  }

  /**
   * Ends the stream after everything that was sent. Safe to call twice. A reason that is too long
   * for a WebSocket is cut.
   */
  close(code = 1000, reason = ''): void {
    if (this.isClosed || this.#isClosing) return
    this.#isClosing = true
    // The other side's answer to it is not seen by a socket that does not read.
    this.resume()
    this.#socket.close(code, closeReason(reason))
  }

  /** Ends it now. */
  terminate(): void {
    this.#socket.terminate()
    this.closed(1006, 'the connection ended')
  }

  /** A message came. */
  received(data: Uint8Array, isText: boolean): void {
    this.heard()
    if (this.#isClosing) return
    if (this.#receive === undefined) this.#unread.push([data, isText])
    else this.#receive(data, isText)
  }

  /** Something came, if only a sign of life. */
  heard(): void {
    this.#heardMs = this.#clock.monotonicMs()
  }

  /** The connection is over. */
  closed(code: number, reason: string): void {
    if (this.isClosed) return
    this.#end = { code, reason }
    this.#limits.buffers.closed()
    this.#cancelPing()
    this.#drained?.resolve()
    this.#drained = undefined
    for (const listener of this.#listeners.splice(0)) listener(code, reason)
  }

  #sent(): void {
    // Half: else a reader that is a little slow would wake the sender for each message.
    if (this.#socket.bufferedAmount > this.#limits.buffers.bytesMax / 2) return
    this.#drained?.resolve()
    this.#drained = undefined
  }

  #pingLater(): void {
    this.#cancelPing = this.#clock.after(this.#limits.pingMs, () => {
      const silentMs = this.#clock.monotonicMs() - this.#heardMs
      if (!this.#isPaused && silentMs > this.#limits.silentMsMax) return this.terminate()
      // A full socket shows by itself whether anybody takes what is in it.
      if (!this.isFull) this.#socket.ping()
      this.#pingLater()
    })
  }
}

const CLOSE_BYTES_MAX = 123

/** RFC 6455 §5.5 leaves 123 bytes for the reason; a character is not cut in half. */
function closeReason(text: string): string {
  let bytes = 0
  let kept = ''
  for (const character of text.toWellFormed()) {
    bytes += encodeUtf8(character).length
    if (bytes > CLOSE_BYTES_MAX) break
    kept += character
  }
  return kept
}

/** Passes every message on, each side no faster than the other takes them, until either ends. */
export function pass(from: StreamSocket, to: StreamSocket): void {
  from.onMessage((data, isText) => {
    to.send(data, isText)
    // A socket that is paused still delivers what it has read; one wait is enough for all of it.
    if (!to.isFull || from.isPaused) return
    from.pause()
    void to.drained().then(() => from.resume())
  })
}
