import { Agent, request as askPlain, type ClientRequest } from 'node:http'
import { Agent as SecureAgent, request as askSecurely } from 'node:https'
import type { ConnectionOptions } from 'node:tls'
import { limitConnect } from '../cluster/index.ts'

const CONNECTIONS_MAX = 1_024
/** Connections that wait for the next request. */
const IDLE_MAX = 64

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

/**
 * Ends a request that is not answered in time: a server that sleeps is connected to all the same.
 * Nothing is said of how long the rest of an answer takes, which may be a stream.
 */
export function limitAnswer(asked: ClientRequest, ms: number): { readonly isOver: boolean } {
  const limit = { isOver: false }
  const timer = setTimeout(() => {
    limit.isOver = true
    asked.destroy(new Error('no answer in time'))
  }, ms)
  const settle = (): void => clearTimeout(timer)
  asked.once('response', settle).once('upgrade', settle).once('close', settle)
  return limit
}
