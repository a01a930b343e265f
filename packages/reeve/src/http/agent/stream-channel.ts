import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { NODE_STREAM_PATH, STREAM_MESSAGE_BYTES_MAX } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import type { NodeRpcClient } from '../../workload/index.ts'
import { bearerToken } from '../pipeline/tenants.ts'
import { NODE_ROUTE, type WebSocketChannel } from '../pipeline/upgrades.ts'
import { requestPath, rejectUpgrade } from './upgrade.ts'
import { streamSocket, WebSocketAcceptor } from './websocket.ts'

const STREAM_PATH_PREFIX = `${NODE_STREAM_PATH}/`

interface NodeStreamDeps {
  readonly requests: NodeRpcClient
  readonly clock: Clock
}

/** Accepts the streams that nodes open on request of the server (contract: remote.ts). */
export class NodeStreamServer implements WebSocketChannel {
  readonly route = NODE_ROUTE
  readonly peer = 'node'
  readonly #host: NodeStreamDeps
  readonly #sockets: WebSocketAcceptor

  constructor(host: NodeStreamDeps) {
    this.#host = host
    this.#sockets = new WebSocketAcceptor(host.clock, {
      messageBytesMax: STREAM_MESSAGE_BYTES_MAX,
      oneMessagePerTick: true,
    })
  }

  serves(request: IncomingMessage): boolean {
    return requestPath(request).startsWith(STREAM_PATH_PREFIX)
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const id = requestPath(request).slice(STREAM_PATH_PREFIX.length)
    const accept = this.#host.requests.acceptStream(id, bearerToken(request) ?? '')
    if (accept === undefined)
      return rejectUpgrade(socket, 403, 'no request is waiting for this stream')
    this.#sockets.accept(request, socket, head, (webSocket) => {
      accept(streamSocket(webSocket, this.#host.clock))
    })
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#sockets.close()
  }
}
