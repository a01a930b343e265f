import type { Clock } from './clock.ts'
import { encodeUtf8 } from './utf8.ts'

/** The part of a WebSocket that streams use. */
export interface WebSocketLike {
  /** Bytes passed to `send` that are not written to the network yet. */
  readonly bufferedAmount: number
  send(
    data: string | Uint8Array,
    options: { readonly binary: boolean },
    done: (error?: Error | null) => void,
  ): void
  ping(): void
  /** Stops reading; the peer's messages then stay in network buffers (backpressure). */
  pause(): void
  resume(): void
  close(code?: number, reason?: string): void
  terminate(): void
}

export interface StreamSocketLimits {
  /** Bounds the bytes that wait to be sent. */
  readonly buffers: StreamBuffers
  /** `pingMs` is the ping interval; a peer that is silent for `silentMsMax` is disconnected. */
  readonly pingMs: number
  readonly silentMsMax: number
}

export interface StreamBufferLimits {
  readonly streamBytesMax: number
  readonly streamBytesMin: number
  readonly totalBytesMax: number
}

/** Send buffer budget of all streams: the more streams are open, the less each gets. */
export class StreamBuffers {
  readonly #limits: StreamBufferLimits
  #streams = 0

  constructor(limits: StreamBufferLimits) {
    this.#limits = limits
  }

  /** Current send buffer limit of one stream. */
  get bytesMax(): number {
    const { streamBytesMax, streamBytesMin, totalBytesMax } = this.#limits
    return Math.max(streamBytesMin, Math.min(streamBytesMax, totalBytesMax / this.#streams))
  }

  addStream(): void {
    this.#streams += 1
  }

  removeStream(): void {
    this.#streams -= 1
  }
}

type MessageHandler = (data: Uint8Array, isText: boolean) => void
type CloseHandler = (code: number, reason: string) => void

/**
 * One end of a stream over a WebSocket, with backpressure in both directions and detection of dead
 * peers. Nothing is read before `onMessage`. The owner of the socket reports its events with
 * `handleMessage`, `noteActivity` and `handleClose`.
 */
export class StreamSocket {
  readonly #socket: WebSocketLike
  readonly #clock: Clock
  readonly #limits: StreamSocketLimits
  #receive: MessageHandler | undefined
  readonly #unread: (readonly [Uint8Array, boolean])[] = []
  readonly #listeners: CloseHandler[] = []
  #drained: PromiseWithResolvers<void> | undefined
  #closeEvent: { readonly code: number; readonly reason: string } | undefined
  #isPaused = true
  #isClosing = false
  /** Charges received bytes; returns for how many milliseconds reading must pause. */
  #chargeBytes: ((bytes: number) => number) | undefined
  #cancelThrottle: (() => void) | undefined
  #lastActivityMs: number
  #cancelPing: () => void = () => undefined

  constructor(socket: WebSocketLike, clock: Clock, limits: StreamSocketLimits) {
    this.#socket = socket
    this.#clock = clock
    this.#limits = limits
    this.#lastActivityMs = clock.monotonicMs()
    limits.buffers.addStream()
    socket.pause()
    this.#schedulePing()
  }

  get isClosed(): boolean {
    return this.#closeEvent !== undefined
  }

  /** Whether reading is paused. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Whether the sender should wait for `drained` before it sends more. */
  get isFull(): boolean {
    return !this.isClosed && this.#socket.bufferedAmount > this.#limits.buffers.bytesMax
  }

  /** Sends a message. Ignored after the stream has ended. */
  send(data: string | Uint8Array, isText = typeof data === 'string'): void {
    if (this.isClosed) return
    this.#socket.send(data, { binary: !isText }, () => this.#sent())
  }

  /** Resolves when the buffer has drained or the stream has ended. */
  drained(): Promise<void> {
    if (!this.isFull) return Promise.resolve()
    this.#drained ??= Promise.withResolvers<void>()
    return this.#drained.promise
  }

  /** Sets the message handler and starts reading. */
  onMessage(receive: MessageHandler): void {
    this.#receive = receive
    for (const [data, isText] of this.#unread.splice(0)) receive(data, isText)
    // The handler may have detached or paused during the buffered messages.
    if (this.#receive === receive) this.resume()
  }

  /** Stops reading and removes the handler until the next `onMessage`. */
  detach(): void {
    this.#receive = undefined
    this.pause()
  }

  /**
   * Limits the rate of reading.
   * @param chargeBytes receives the number of bytes; returns for how many milliseconds reading must
   * pause
   */
  throttle(chargeBytes: (bytes: number) => number): void {
    this.#chargeBytes = chargeBytes
  }

  pause(): void {
    if (this.#isPaused || this.isClosed) return
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#isPaused || this.isClosed) return
    this.#isPaused = false
    this.#read()
  }

  /** Calls back once when the stream has ended; at once if it already has. */
  onClose(closed: CloseHandler): void {
    if (this.#closeEvent === undefined) this.#listeners.push(closed)
    else closed(this.#closeEvent.code, this.#closeEvent.reason)
  }

  /**
   * Closes the stream after all pending messages are sent. May be called twice. A reason that is
   * too long for a WebSocket is truncated.
   */
  close(code = 1000, reason = ''): void {
    if (this.isClosed || this.#isClosing) return
    this.#isClosing = true
    this.#stopThrottling()
    // A paused socket would not read the peer's close frame.
    this.resume()
    this.#socket.close(code, closeReason(reason))
  }

  /** Closes the connection at once. */
  terminate(): void {
    this.#socket.terminate()
    this.handleClose(1006, 'the connection ended')
  }

  /** Called for each message from the peer. */
  handleMessage(data: Uint8Array, isText: boolean): void {
    this.noteActivity()
    if (this.#isClosing) return
    this.#throttleReading(data.byteLength)
    if (this.#receive === undefined) this.#unread.push([data, isText])
    else this.#receive(data, isText)
  }

  /** Called for any sign of life from the peer, such as a pong. */
  noteActivity(): void {
    this.#lastActivityMs = this.#clock.monotonicMs()
  }

  /** Called when the connection has closed. */
  handleClose(code: number, reason: string): void {
    if (this.isClosed) return
    this.#closeEvent = { code, reason }
    this.#limits.buffers.removeStream()
    this.#cancelPing()
    this.#cancelThrottle?.()
    this.#drained?.resolve()
    this.#drained = undefined
    for (const listener of this.#listeners.splice(0)) listener(code, reason)
  }

  /** Resumes reading unless it is throttled; the throttle timer then resumes it. */
  #read(): void {
    if (this.#cancelThrottle !== undefined) return
    // Time during which this side did not read does not count as silence of the peer.
    this.#lastActivityMs = this.#clock.monotonicMs()
    this.#socket.resume()
  }

  #throttleReading(bytes: number): void {
    const waitMs = this.#chargeBytes?.(bytes) ?? 0
    if (waitMs <= 0) return
    this.#cancelThrottle?.()
    this.#cancelThrottle = this.#clock.after(waitMs, () => this.#stopThrottling())
    this.#socket.pause()
  }

  #stopThrottling(): void {
    if (this.#cancelThrottle === undefined) return
    this.#cancelThrottle()
    this.#cancelThrottle = undefined
    if (!this.#isPaused) this.#read()
  }

  #sent(): void {
    // At half: otherwise a slightly slow reader would wake the sender for every message.
    if (this.#socket.bufferedAmount > this.#limits.buffers.bytesMax / 2) return
    this.#drained?.resolve()
    this.#drained = undefined
  }

  #schedulePing(): void {
    this.#cancelPing = this.#clock.after(this.#limits.pingMs, () => {
      const silentMs = this.#clock.monotonicMs() - this.#lastActivityMs
      if (!this.#isPaused && silentMs > this.#limits.silentMsMax) return this.terminate()
      // A full buffer already shows whether the peer reads.
      if (!this.isFull) this.#socket.ping()
      this.#schedulePing()
    })
  }
}

const CLOSE_BYTES_MAX = 123

/** RFC 6455 §5.5 allows 123 bytes for the reason. Characters are not split. */
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

/** Forwards all messages with backpressure until either stream ends. */
export function pipeMessages(from: StreamSocket, to: StreamSocket): void {
  from.onMessage((data, isText) => {
    to.send(data, isText)
    // A paused socket still delivers messages it has read; one wait covers all of them.
    if (!to.isFull || from.isPaused) return
    from.pause()
    void to.drained().then(() => from.resume())
  })
}
