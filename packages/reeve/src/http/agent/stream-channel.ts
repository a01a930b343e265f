import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { NODE_STREAM_PATH, STREAM_MESSAGE_BYTES_MAX } from '@reeve/contract'
import { WebSocketServer } from 'ws'
import type { Clock } from '../../kit/clock.ts'
import type { NodeRequests } from '../../workload/index.ts'
import { pathOf, refuseUpgrade } from './upgrade.ts'
import { streamSocket } from './web-socket.ts'

const PREFIX = `${NODE_STREAM_PATH}/`

export interface StreamChannelHost {
  readonly requests: NodeRequests
  readonly clock: Clock
}

/** Where nodes dial the streams that they were asked for (contract: remote.ts). */
export class StreamChannelServer {
  readonly #host: StreamChannelHost
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: STREAM_MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
    // One message of a stream per turn of the event loop: a fast node delays only itself.
    allowSynchronousEvents: false,
  })

  constructor(host: StreamChannelHost) {
    this.#host = host
  }

  serves(request: IncomingMessage): boolean {
    return pathOf(request).startsWith(PREFIX)
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const id = pathOf(request).slice(PREFIX.length)
    const take = this.#host.requests.dialled(id, bearerOf(request))
    if (take === undefined) return refuseUpgrade(socket, 403, 'nobody waits for this stream')
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      take(streamSocket(webSocket, this.#host.clock))
    })
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#sockets.close()
  }
}

function bearerOf({ headers }: IncomingMessage): string {
  const [scheme, secret = ''] = (headers.authorization ?? '').split(' ')
  return scheme?.toLowerCase() === 'bearer' ? secret : ''
}
