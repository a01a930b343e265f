import type { Socket } from 'node:net'
import type { RegionConnections } from './region-connection.ts'

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
