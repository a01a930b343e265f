import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { NODE_STREAM_PATH, STREAM_MESSAGE_BYTES_MAX } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import type { NodeRequests } from '../../workload/index.ts'
import { bearerOf } from '../pipeline/credentials.ts'
import { NODE_ROUTE, type WebSocketChannel } from '../pipeline/upgrades.ts'
import { pathOf, refuseUpgrade } from './upgrade.ts'
import { streamSocket, WebSocketAcceptor } from './web-socket.ts'

const PREFIX = `${NODE_STREAM_PATH}/`

export interface StreamChannelHost {
  readonly requests: NodeRequests
  readonly clock: Clock
}

/** Where nodes dial the streams that they were asked for (contract: remote.ts). */
export class StreamChannelServer implements WebSocketChannel {
  readonly route = NODE_ROUTE
  readonly peer = 'node'
  readonly #host: StreamChannelHost
  readonly #sockets: WebSocketAcceptor

  constructor(host: StreamChannelHost) {
    this.#host = host
    this.#sockets = new WebSocketAcceptor(host.clock, {
      messageBytesMax: STREAM_MESSAGE_BYTES_MAX,
      oneMessagePerTick: true,
    })
  }

  serves(request: IncomingMessage): boolean {
    return pathOf(request).startsWith(PREFIX)
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const id = pathOf(request).slice(PREFIX.length)
    const take = this.#host.requests.dialled(id, bearerOf(request) ?? '')
    if (take === undefined) return refuseUpgrade(socket, 403, 'nobody waits for this stream')
    this.#sockets.accept(request, socket, head, (webSocket) => {
      take(streamSocket(webSocket, this.#host.clock))
    })
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#sockets.close()
  }
}
