import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { Server as SecureServer } from 'node:tls'
import type { Clock } from '@reeve/kit/clock.ts'

/**
 * Time that running requests get when a server stops. A leader keeps its lease meanwhile, so no
 * other server can answer: a client that reads its response slowly must not prolong that.
 */
export const STOP_MS_MAX = 1_000

/** A waiting request. It is over when its client has disconnected or the server drains. */
export class Hold {
  #isOver = false
  #listener: (() => void) | undefined

  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Registers the listener that is called when the wait is over, at once if it already is, in place
   * of an earlier one; undefined removes it.
   */
  onOver(listener: (() => void) | undefined): void {
    this.#listener = listener
    if (this.#isOver) listener?.()
  }

  end(): void {
    this.#isOver = true
    this.#listener?.()
  }
}

/** Tracks connections and waiting requests, so that a shutdown can end them. */
export class Lifecycle {
  readonly #open = new Set<Hold>()
  /** Connections without a request so far. */
  readonly #unused = new Set<Socket>()
  /** Upgraded connections, which the runtime no longer closes. */
  readonly #upgraded = new Set<Socket>()
  /** Requests whose body may be incomplete. */
  readonly #arriving = new Set<IncomingMessage>()
  #draining = false

  get isDraining(): boolean {
    return this.#draining
  }

  /**
   * Tracks the connections of a server. Browsers and clients open connections ahead of need; the
   * runtime closes only those that were used, and the others would delay a shutdown.
   */
  follow(server: Server): void {
    // An HTTPS server reports each connection twice: the TCP socket and the TLS socket.
    const unencrypted = new Map<string, Socket>()
    const follow = (socket: Socket): void => {
      this.#unused.add(socket)
      socket.once('close', () => this.#unused.delete(socket))
    }
    server.on('connection', (socket: Socket) => {
      follow(socket)
      if (!(server instanceof SecureServer)) return
      const place = placeOf(socket)
      unencrypted.set(place, socket)
      socket.once('close', () => unencrypted.delete(place))
    })
    server.on('secureConnection', (socket: Socket) => {
      const below = unencrypted.get(placeOf(socket))
      if (below !== undefined) this.#unused.delete(below)
      follow(socket)
    })
    server.on('request', (request) => {
      this.#unused.delete(request.socket)
      this.#followBody(request)
    })
    server.on('upgrade', ({ socket }) => {
      this.#unused.delete(socket)
      this.#upgraded.add(socket)
      socket.once('close', () => this.#upgraded.delete(socket))
    })
  }

  #followBody(request: IncomingMessage): void {
    const { headers } = request
    if (!('content-length' in headers || 'transfer-encoding' in headers)) return
    this.#arriving.add(request)
    request.once('close', () => this.#arriving.delete(request))
  }

  /**
   * Returns a hold, which must be released at the end of the request; a connection outlives its
   * requests.
   */
  hold(): Hold {
    const hold = new Hold()
    if (this.#draining) hold.end()
    this.#open.add(hold)
    return hold
  }

  release(hold: Hold): void {
    this.#open.delete(hold)
  }

  /**
   * Answers parked queries, ends streams and closes unused connections. A request whose body is
   * incomplete has had no effect, and its client could take any time to send the rest, so its
   * connection is closed.
   */
  drain(): void {
    this.#draining = true
    for (const socket of this.#unused) socket.destroy()
    for (const { complete, socket } of this.#arriving) if (!complete) socket.destroy()
    for (const hold of this.#open) hold.end()
  }

  /** Closes the port and destroys the connections that remain. Call `drain` first. */
  async close(app: ClosingApp, clock: Clock): Promise<void> {
    const cancel = clock.after(STOP_MS_MAX, () => {
      app.server.closeAllConnections()
      for (const socket of this.#upgraded) socket.destroy()
    })
    await app.close()
    cancel()
  }
}

interface ClosingApp {
  readonly server: Server
  /** Resolves when the port and all connections are closed. */
  close(): Promise<void>
}

/** Identifies a connection by its remote address and port, which are unique at any time. */
function placeOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
