import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Clock } from '@reeve/kit/clock.ts'
import { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'

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

/** Shared by all streams of this process, whose total memory they bound. */
const streamBuffers = new StreamBuffers(LIMITS.nodeStreamBuffers)

/** Wraps a connection as a stream that waits for slow readers. */
export function streamSocket(webSocket: WebSocket, clock: Clock): StreamSocket {
  const stream = new StreamSocket(webSocket, clock, {
    buffers: streamBuffers,
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
