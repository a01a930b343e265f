import { Agent, request as askPlain, type ClientRequest } from 'node:http'
import { Agent as SecureAgent, request as askSecurely } from 'node:https'
import type { ConnectionOptions } from 'node:tls'
import { limitConnect } from '../cluster/index.ts'

const CONNECTIONS_MAX = 1_024
/** Connections that wait for the next request. */
const IDLE_MAX = 64

/** A connection that carries nothing for this long is tested by the system. */
const KEEP_ALIVE_MS = 15_000

/** What a server shows to those of a region, and whom it takes for one of them; asked each time. */
export type RegionTls = (
  region: string,
) => Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername' | 'checkServerIdentity'
>

export interface RegionAsk {
  readonly region: string
  /** `http://host:port` or `https://…`. */
  readonly address: string
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** A connection of its own, which says for certain whether a request has left. */
  readonly isAlone: boolean
}

/** Opens requests to servers of other regions. */
export class RegionConnections {
  readonly #tls: RegionTls
  readonly #pooled = { keepAlive: true, maxSockets: CONNECTIONS_MAX, maxFreeSockets: IDLE_MAX }
  readonly #plain = new Agent(this.#pooled)
  readonly #secure = new SecureAgent(this.#pooled)

  constructor(tls: RegionTls = () => ({})) {
    this.#tls = tls
  }

  ask({ region, address, method, url, headers, isAlone }: RegionAsk): ClientRequest {
    const { protocol, hostname, port, host } = new URL(address)
    const isSecure = protocol === 'https:'
    const options = {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? (isSecure ? 443 : 80) : Number(port),
      method,
      path: url,
      // Also of a connection of its own: who means to close hangs up on a body that it refuses.
      headers: { connection: 'keep-alive', ...copied(headers), host },
    }
    const asked = isSecure
      ? askSecurely({ ...options, ...this.#tls(region), agent: isAlone ? false : this.#secure })
      : askPlain({ ...options, agent: isAlone ? false : this.#plain })
    limitConnect(asked)
    // A machine that is gone ends no connection: the system notices, and then so do streams.
    asked.setSocketKeepAlive(true, KEEP_ALIVE_MS)
    return asked
  }

  close(): void {
    this.#plain.destroy()
    this.#secure.destroy()
  }
}

/** Node takes lists that it may change. */
function copied(headers: RegionAsk['headers']): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]): [string, string | string[]] => [
      name,
      typeof value === 'string' ? value : [...value],
    ]),
  )
}

/** Calls when the other side is there to be written to: before that nothing has left. */
export function whenConnected(asked: ClientRequest, address: string, go: () => void): void {
  asked.on('socket', (socket) => {
    if (!socket.connecting) return go()
    socket.once(address.startsWith('https:') ? 'secureConnect' : 'connect', go)
  })
}

/** The time that a request has left until its response begins. */
export interface ResponseTimeout {
  readonly isOver: boolean
  /** Starts anew: a part of the request was sent. */
  restart(): void
}

/**
 * Ends a request whose response does not begin in time: a server that sleeps accepts connections
 * all the same. The rest of the response, which may be a stream, is not limited.
 */
export function setResponseTimeout(asked: ClientRequest, ms: number): ResponseTimeout {
  let isOver = false
  const timer = setTimeout(() => {
    isOver = true
    asked.destroy(new Error('no answer in time'))
  }, ms)
  let isSettled = false
  const settle = (): void => {
    isSettled = true
    clearTimeout(timer)
  }
  asked.once('response', settle).once('upgrade', settle).once('close', settle)
  return {
    get isOver() {
      return isOver
    },
    restart: () => void (isSettled || timer.refresh()),
  }
}
