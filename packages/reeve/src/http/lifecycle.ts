import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { Server as SecureServer } from 'node:tls'
import type { Clock } from '@reeve/kit/clock.ts'

/**
 * What is under way when a server stops may take this long. A leader keeps its lease meanwhile, so
 * that nobody else can answer: whoever reads an answer slowly must not decide how long that is.
 */
export const STOP_MS_MAX = 1_000

/** A request that may wait. It is over when the caller has gone or the server drains. */
export class Hold {
  #isOver = false
  #listener: (() => void) | undefined

  get isOver(): boolean {
    return this.#isOver
  }

  /** Calls `listener` when it is over; the last one given counts, undefined takes it back. */
  onOver(listener: (() => void) | undefined): void {
    this.#listener = listener
  }

  end(): void {
    this.#isOver = true
    this.#listener?.()
  }
}

/**
 * The end of things: parked queries and streams hang on holds, so that a stop ends them at once.
 */
export class Lifecycle {
  readonly #open = new Set<Hold>()
  /** Connections that nothing was asked on yet. */
  readonly #unused = new Set<Socket>()
  /** Connections that the runtime has given away, and closes no more. */
  readonly #upgraded = new Set<Socket>()
  /** Requests with a body, which may not be there yet. */
  readonly #arriving = new Set<IncomingMessage>()
  #draining = false

  get isDraining(): boolean {
    return this.#draining
  }

  /**
   * Browsers and clients open connections ahead of need. The runtime closes only those that were
   * used before; the others would hold up a stop for as long as their owner likes.
   */
  follow(server: Server): void {
    // Of an HTTPS server a connection comes twice: as it is, and when it is encrypted.
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

  /** Must be released when the request is over; a connection outlives its requests. */
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
   * Answers what is parked, ends what streams, closes what nobody uses. A request that is not here
   * as a whole has done nothing, and its caller may take as long as it likes to send the rest.
   */
  drain(): void {
    this.#draining = true
    for (const socket of this.#unused) socket.destroy()
    for (const { complete, socket } of this.#arriving) if (!complete) socket.destroy()
    for (const hold of this.#open) hold.end()
  }

  /** Closes the port, and cuts off whatever has not ended by then. To be drained before. */
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
  /** Resolves when the port is closed and nobody is connected any more. */
  close(): Promise<void>
}

/** No two connections to one port come from the same place at once. */
function placeOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
