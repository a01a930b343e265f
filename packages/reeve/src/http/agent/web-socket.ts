import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Clock } from '@reeve/kit/clock.ts'
import { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'

interface AcceptorOptions {
  readonly messageBytesMax: number
  /** Reads one message of a peer per tick of the event loop: a flood of them delays its sender. */
  readonly oneMessagePerTick?: boolean
}

/**
 * Accepts WebSockets. Pings are answered by hand: the library would queue a pong for each, and a
 * peer that sends pings and reads nothing would fill the server's memory.
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

  /** Accepts no more; the connections that are open stay open. */
  close(): void {
    this.#server.close()
  }
}

/** Answers pings while the peer reads, and cuts off a peer that floods with control frames. */
function answerPings(webSocket: WebSocket, clock: Clock): void {
  let allowed: number = LIMITS.webSocketPingsMax
  let countedMs = clock.monotonicMs()
  const isAllowed = (): boolean => {
    const nowMs = clock.monotonicMs()
    const gained = ((nowMs - countedMs) * LIMITS.webSocketPingsPerSecond) / 1_000
    allowed = Math.min(LIMITS.webSocketPingsMax, allowed + gained) - 1
    countedMs = nowMs
    return allowed >= 0
  }
  webSocket.on('ping', (data) => {
    if (!isAllowed()) return webSocket.terminate()
    // The peer has not read the last one yet: another pong would tell it nothing.
    if (webSocket.bufferedAmount === 0) webSocket.pong(data)
  })
  webSocket.on('pong', () => {
    if (!isAllowed()) webSocket.terminate()
  })
}

/** Shared by every stream of this process: it is its memory that is bounded. */
const buffers = new StreamBuffers(LIMITS.nodeStreamBuffers)

/** A connection as a stream that waits for slow readers. */
export function streamSocket(webSocket: WebSocket, clock: Clock): StreamSocket {
  const stream = new StreamSocket(webSocket, clock, {
    buffers,
    pingMs: LIMITS.nodeStreamPingMs,
    silentMsMax: LIMITS.nodeStreamSilentMsMax,
  })
  // With the default binaryType a message is one Buffer.
  webSocket.on('message', (data, isBinary) => stream.handleMessage(data as Buffer, !isBinary))
  webSocket.on('ping', () => stream.noteActivity())
  webSocket.on('pong', () => stream.noteActivity())
  webSocket.on('close', (code, reason) => stream.handleClose(code, reason.toString('utf8')))
  // 'close' follows; an unheard 'error' event would end the process.
  webSocket.on('error', () => undefined)
  return stream
}
