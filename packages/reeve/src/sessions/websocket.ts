import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Clock } from '@reeve/kit/clock.ts'
import { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import {
  chunksLength,
  joinChunks,
  UTF8_BYTES_PER_UNIT_MAX,
  type StringChunks,
} from '@reeve/kit/string-chunks.ts'
import { LIMITS } from '../model/index.ts'

/** Reason for rejecting an upgrade; the HTTP server writes the response. */
export interface UpgradeRejection {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Serves the WebSockets of some paths. */
export interface WebSocketChannel {
  /** Kind of peer: nodes have limits of their own, and may need a client certificate. */
  readonly peer: 'client' | 'node'
  serves(request: IncomingMessage): boolean
  /** Takes the connection over, or returns why it is rejected. */
  handleUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): UpgradeRejection | undefined
  close(): void
}

/** Returns the path of a request without its query. */
export function requestPath(request: IncomingMessage): string {
  return request.url?.split('?')[0] ?? ''
}

interface AcceptorOptions {
  readonly messageBytesMax: number
  /** Reads one message of a peer per tick, so that a flood delays only its sender. */
  readonly oneMessagePerTick?: boolean
}

/**
 * Accepts WebSockets. Pongs are sent here: the library would queue one for each ping, and a peer
 * that sends pings without reading would fill the server's memory.
 */
export class WebSocketAcceptor {
  readonly #clock: Clock
  readonly #server: WebSocketServer

  constructor(clock: Clock, { messageBytesMax, oneMessagePerTick = false }: AcceptorOptions) {
    this.#clock = clock
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: messageBytesMax,
      perMessageDeflate: false,
      autoPong: false,
      allowSynchronousEvents: !oneMessagePerTick,
    })
  }

  get clients(): ReadonlySet<WebSocket> {
    return this.#server.clients
  }

  accept(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    onOpen: (webSocket: WebSocket) => void,
  ): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      answerPings(webSocket, this.#clock)
      onOpen(webSocket)
    })
  }

  /** Accepts no more connections; open ones stay open. */
  close(): void {
    this.#server.close()
  }
}

/** Answers pings while the peer reads, and terminates peers that flood with control frames. */
function answerPings(webSocket: WebSocket, clock: Clock): void {
  let budget: number = LIMITS.webSocketPingsMax
  let refilledMs = clock.monotonicMs()
  const isAllowed = (): boolean => {
    const nowMs = clock.monotonicMs()
    const gained = ((nowMs - refilledMs) * LIMITS.webSocketPingsPerSecond) / 1_000
    budget = Math.min(LIMITS.webSocketPingsMax, budget + gained) - 1
    refilledMs = nowMs
    return budget >= 0
  }
  webSocket.on('ping', (data) => {
    if (!isAllowed()) return webSocket.terminate()
    // The peer has not read the last pong: another one would be useless.
    if (webSocket.bufferedAmount === 0) webSocket.pong(data)
  })
  webSocket.on('pong', () => {
    if (!isAllowed()) webSocket.terminate()
  })
}

/** Returns the buffers that all streams of a server share, and that bound their total memory. */
export function createStreamBuffers(): StreamBuffers {
  return new StreamBuffers(LIMITS.nodeStreamBuffers)
}

/** Wraps a connection as a stream that waits for slow readers. */
export function streamSocket(
  webSocket: WebSocket,
  clock: Clock,
  buffers: StreamBuffers,
): StreamSocket {
  const stream = new StreamSocket(webSocket, clock, {
    buffers,
    pingMs: LIMITS.nodeStreamPingMs,
    silentMsMax: LIMITS.nodeStreamIdleTimeoutMs,
  })
  // With the default binaryType a message is one Buffer.
  webSocket.on('message', (data, isBinary) => stream.handleMessage(data as Buffer, !isBinary))
  webSocket.on('ping', () => stream.noteActivity())
  webSocket.on('pong', () => stream.noteActivity())
  webSocket.on('close', (code, reason) => stream.handleClose(code, reason.toString('utf8')))
  // 'close' follows; an 'error' event without a listener would end the process.
  webSocket.on('error', () => undefined)
  return stream
}

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
