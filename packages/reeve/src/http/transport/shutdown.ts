import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { Server as SecureServer } from 'node:tls'
import type { Clock } from '@reeve/kit/clock.ts'

/**
 * Time that running requests get when a server stops. A leader keeps its lease meanwhile, so no
 * other server can answer: a client that reads its response slowly must not prolong that.
 */
export const SHUTDOWN_GRACE_MS = 1_000

/**
 * Handle of a waiting request. It is cancelled when its client disconnects or the server drains.
 */
export class WaitHandle {
  #isCancelled = false
  #listener: (() => void) | undefined

  get isCancelled(): boolean {
    return this.#isCancelled
  }

  /**
   * Sets the listener for the cancellation, which replaces an earlier one; undefined removes it.
   * Called at once if the handle is already cancelled.
   */
  onCancel(listener: (() => void) | undefined): void {
    this.#listener = listener
    if (this.#isCancelled) listener?.()
  }

  cancel(): void {
    this.#isCancelled = true
    this.#listener?.()
  }
}

/** Tracks connections and waiting requests, so that a shutdown can end them. */
export class GracefulShutdown {
  readonly #handles = new Set<WaitHandle>()
  /** Connections without a request so far. */
  readonly #unused = new Set<Socket>()
  /** Upgraded connections, which the runtime no longer closes. */
  readonly #upgraded = new Set<Socket>()
  /** Requests whose body may be incomplete. */
  readonly #receiving = new Set<IncomingMessage>()
  #draining = false

  get isDraining(): boolean {
    return this.#draining
  }

  /**
   * Tracks the connections of a server. Browsers and clients open connections ahead of need; the
   * runtime closes only those that were used, and the others would delay a shutdown.
   */
  track(server: Server): void {
    // An HTTPS server reports each connection twice: the TCP socket and the TLS socket.
    const unencrypted = new Map<string, Socket>()
    const trackUnused = (socket: Socket): void => {
      this.#unused.add(socket)
      socket.once('close', () => this.#unused.delete(socket))
    }
    server.on('connection', (socket: Socket) => {
      trackUnused(socket)
      if (!(server instanceof SecureServer)) return
      const endpoint = remoteEndpoint(socket)
      unencrypted.set(endpoint, socket)
      socket.once('close', () => unencrypted.delete(endpoint))
    })
    server.on('secureConnection', (socket: Socket) => {
      const tcpSocket = unencrypted.get(remoteEndpoint(socket))
      if (tcpSocket !== undefined) this.#unused.delete(tcpSocket)
      trackUnused(socket)
    })
    server.on('request', (request) => {
      this.#unused.delete(request.socket)
      this.#trackBody(request)
    })
    server.on('upgrade', ({ socket }) => {
      this.#unused.delete(socket)
      this.#upgraded.add(socket)
      socket.once('close', () => this.#upgraded.delete(socket))
    })
  }

  #trackBody(request: IncomingMessage): void {
    const { headers } = request
    if (!('content-length' in headers || 'transfer-encoding' in headers)) return
    this.#receiving.add(request)
    request.once('close', () => this.#receiving.delete(request))
  }

  /**
   * Returns a handle, which must be released at the end of the request; a connection outlives its
   * requests.
   */
  openHandle(): WaitHandle {
    const handle = new WaitHandle()
    if (this.#draining) handle.cancel()
    this.#handles.add(handle)
    return handle
  }

  /** Closes a stream when the server drains. Returns a function to call at its end. */
  trackStream(close: () => void): () => void {
    const handle = this.openHandle()
    handle.onCancel(close)
    return () => this.release(handle)
  }

  release(handle: WaitHandle): void {
    this.#handles.delete(handle)
  }

  /**
   * Answers parked queries, ends streams and closes unused connections. A request whose body is
   * incomplete has had no effect, and its client could take any time to send the rest, so its
   * connection is closed.
   */
  drain(): void {
    this.#draining = true
    for (const socket of this.#unused) socket.destroy()
    for (const { complete, socket } of this.#receiving) if (!complete) socket.destroy()
    for (const handle of this.#handles) handle.cancel()
  }

  /** Closes the port and destroys the connections that remain. Call `drain` first. */
  async close(app: ClosingApp, clock: Clock): Promise<void> {
    const cancel = clock.after(SHUTDOWN_GRACE_MS, () => {
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
function remoteEndpoint({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
