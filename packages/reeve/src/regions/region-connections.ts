import { Agent, request as askPlain, type ClientRequest } from 'node:http'
import { Agent as SecureAgent, request as askSecurely } from 'node:https'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { certificateErrorText, isUntrusted } from '@reeve/kit/certificate-error.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { setConnectTimeout, UPSTREAM_POOL } from '../proxy/index.ts'

/** Idle time after which the kernel probes a connection. */
const KEEP_ALIVE_MS = 15_000

/** TLS options for connections to a region's servers, read for each connection. */
export type RegionTls = (
  region: string,
) => Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername' | 'checkServerIdentity'
>

interface RegionRequest {
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
  readonly #plain = new Agent(UPSTREAM_POOL)
  readonly #secure = new SecureAgent(UPSTREAM_POOL)

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
    clientRequest.destroy(new Error('no response in time'))
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

export interface SilenceLimits {
  /** A server that has sent nothing on any of its exchanges for this long is probed. */
  readonly silenceMs: number
  /** Timeout of the probe. */
  readonly probeMsMax: number
}

export interface RegionServer {
  readonly region: string
  readonly address: string
}

/** A forwarded request in progress: it waits, or its response is a stream. */
interface Exchange {
  readonly socket: Socket
  /** Bytes that the socket had received at the last check. */
  bytesRead: number
  /** Ends the exchange with an error. */
  readonly end: (reason: Error) => void
}

interface WatchedServer {
  readonly exchanges: Set<Exchange>
  timer: NodeJS.Timeout
}

/** A cheap route that needs neither token nor leader; any response will do. */
const PROBE_URL = '/v1/agent/health'

/**
 * Ends exchanges with servers that are silent. A stream or a blocking query may be silent for long,
 * and a suspended machine or a firewall that drops packets looks the same. So the server is probed
 * on a separate connection.
 */
export class SilenceWatch {
  readonly #connections: RegionConnections
  readonly #limits: SilenceLimits
  readonly #servers = new Map<string, WatchedServer>()

  constructor(connections: RegionConnections, limits: SilenceLimits) {
    this.#connections = connections
    this.#limits = limits
  }

  /** Watches until the returned function is called. */
  watch(server: RegionServer, socket: Socket, end: Exchange['end']): () => void {
    const { address } = server
    const exchange: Exchange = { socket, bytesRead: socket.bytesRead, end }
    const watched = this.#servers.get(address) ?? {
      exchanges: new Set<Exchange>(),
      timer: this.#schedule(server),
    }
    this.#servers.set(address, watched)
    watched.exchanges.add(exchange)
    return () => {
      watched.exchanges.delete(exchange)
      if (watched.exchanges.size > 0 || this.#servers.get(address) !== watched) return
      clearTimeout(watched.timer)
      this.#servers.delete(address)
    }
  }

  close(): void {
    for (const { timer } of this.#servers.values()) clearTimeout(timer)
    this.#servers.clear()
  }

  #schedule(server: RegionServer): NodeJS.Timeout {
    return setTimeout(() => this.#check(server), this.#limits.silenceMs)
  }

  #check(server: RegionServer): void {
    const watched = this.#servers.get(server.address)
    if (watched === undefined) return
    watched.timer = this.#schedule(server)
    let hasReceived = false
    for (const exchange of watched.exchanges) {
      const { bytesRead } = exchange.socket
      if (bytesRead !== exchange.bytesRead) hasReceived = true
      exchange.bytesRead = bytesRead
    }
    if (!hasReceived) this.#probe(server)
  }

  #probe({ region, address }: RegionServer): void {
    const { silenceMs, probeMsMax } = this.#limits
    const request = {
      region,
      address,
      method: 'GET',
      url: PROBE_URL,
      headers: {},
      usesOwnSocket: true,
    }
    const probe = this.#connections.request(request)
    const seconds = (silenceMs + probeMsMax) / 1_000
    const expire = (): void => void probe.destroy(new Error(`silent for ${seconds} s`))
    const timer = setTimeout(expire, probeMsMax)
    probe.once('close', () => clearTimeout(timer))
    probe.once('response', () => probe.destroy())
    probe.once('error', (reason) => {
      for (const { end } of this.#servers.get(address)?.exchanges ?? []) end(reason)
    })
    probe.end()
  }
}

/**
 * Describes why a server of another region did not respond and what to check: Node's errors name
 * neither the server nor the setting.
 */
export function describeConnectionError(
  thrown: unknown,
  { address, hasAnswered }: { readonly address: string; readonly hasAnswered: boolean },
): string {
  const { protocol, host } = new URL(address)
  const code = errorCodeOf(thrown)
  const isSecure = protocol === 'https:'
  if (isUntrusted(code) || CERTIFICATE_CODES.has(code))
    return `the certificate of ${host} ${certificateErrorText(code, 'tls.ca_file', 'serverAuth')}`
  if (CLIENT_CERTIFICATE_REJECTED.has(code))
    return `${host} does not accept the certificate of this server`
  if (isSecure && PROTOCOL_MISMATCH.has(code)) return `${host} does not speak HTTPS`
  const text = errorMessage(thrown)
  if (code !== 'ECONNRESET') return text
  if (hasAnswered) return `${host} hung up`
  // A server that rejects a handshake, or a TLS port that gets a plain request, sends no reason.
  const hint = isSecure
    ? 'it may not accept the certificate of this server'
    : 'if it speaks HTTPS, its address begins with https://'
  return `${host} hung up; ${hint}`
}

function errorCodeOf(thrown: unknown): string {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
  return typeof code === 'string' ? code : ''
}

const CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'INVALID_PURPOSE',
])

const CLIENT_CERTIFICATE_REJECTED: ReadonlySet<string> = new Set([
  'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN',
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
])

const PROTOCOL_MISMATCH: ReadonlySet<string> = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
])
