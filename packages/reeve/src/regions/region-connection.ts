import { Agent, request as askPlain, type ClientRequest } from 'node:http'
import { Agent as SecureAgent, request as askSecurely } from 'node:https'
import type { ConnectionOptions } from 'node:tls'
import { setConnectTimeout } from '../cluster/index.ts'

const CONNECTIONS_MAX = 1_024
/** Idle connections that are kept for later requests. */
const IDLE_CONNECTIONS_MAX = 64

/** Idle time after which the kernel probes a connection. */
const KEEP_ALIVE_MS = 15_000

/** TLS options for connections to a region's servers, read for each connection. */
export type RegionTls = (
  region: string,
) => Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername' | 'checkServerIdentity'
>

export interface RegionRequest {
  readonly region: string
  /** `http://host:port` or `https://…`. */
  readonly address: string
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** Uses a separate connection, so that it is certain whether the request was sent. */
  readonly usesOwnSocket: boolean
}

/** Opens requests to servers of other regions. */
export class RegionConnections {
  readonly #tls: RegionTls
  readonly #pooled = {
    keepAlive: true,
    maxSockets: CONNECTIONS_MAX,
    maxFreeSockets: IDLE_CONNECTIONS_MAX,
  }
  readonly #plain = new Agent(this.#pooled)
  readonly #secure = new SecureAgent(this.#pooled)

  constructor(tls: RegionTls = () => ({})) {
    this.#tls = tls
  }

  request({ region, address, method, url, headers, usesOwnSocket }: RegionRequest): ClientRequest {
    const { protocol, hostname, port, host } = new URL(address)
    const isSecure = protocol === 'https:'
    const options = {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? (isSecure ? 443 : 80) : Number(port),
      method,
      path: url,
      // Keep-alive also on a separate connection: with `close`, a server may reset the connection
      // instead of responding to a body that it rejects.
      headers: { connection: 'keep-alive', ...mutableHeaders(headers), host },
    }
    const clientRequest = isSecure
      ? askSecurely({
          ...options,
          ...this.#tls(region),
          agent: usesOwnSocket ? false : this.#secure,
        })
      : askPlain({ ...options, agent: usesOwnSocket ? false : this.#plain })
    setConnectTimeout(clientRequest)
    // A crashed machine closes no connection; the kernel's probes detect it, and streams end.
    clientRequest.setSocketKeepAlive(true, KEEP_ALIVE_MS)
    return clientRequest
  }

  close(): void {
    this.#plain.destroy()
    this.#secure.destroy()
  }
}

/** Copies the headers: Node takes mutable lists. */
function mutableHeaders(headers: RegionRequest['headers']): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]): [string, string | string[]] => [
      name,
      typeof value === 'string' ? value : [...value],
    ]),
  )
}

/** Calls back when the connection is open, TLS included: before that nothing was sent. */
export function onConnected(
  clientRequest: ClientRequest,
  address: string,
  callback: () => void,
): void {
  clientRequest.on('socket', (socket) => {
    if (!socket.connecting) return callback()
    socket.once(address.startsWith('https:') ? 'secureConnect' : 'connect', callback)
  })
}

/** Time limit until the response begins. */
export interface ResponseTimeout {
  readonly hasExpired: boolean
  /** Restarts the timeout: a part of the request was sent. */
  restart(): void
}

/**
 * Ends a request whose response does not begin in time: a suspended server still accepts
 * connections. The rest of the response, which may be a stream, is not limited.
 */
export function setResponseTimeout(clientRequest: ClientRequest, ms: number): ResponseTimeout {
  let hasExpired = false
  const timer = setTimeout(() => {
    hasExpired = true
    clientRequest.destroy(new Error('no answer in time'))
  }, ms)
  let isSettled = false
  const settle = (): void => {
    isSettled = true
    clearTimeout(timer)
  }
  clientRequest.once('response', settle).once('upgrade', settle).once('close', settle)
  return {
    get hasExpired() {
      return hasExpired
    },
    restart: () => void (isSettled || timer.refresh()),
  }
}
