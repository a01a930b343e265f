import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** A request that may wait: its signal fires when the caller has gone or the server drains. */
export interface Hold {
  readonly signal: AbortSignal
  /** Must be called when the request is over; a connection outlives its requests. */
  readonly release: () => void
}

/**
 * The end of things: parked queries and streams hang on holds, so that a stop ends them at once.
 */
export class Lifecycle {
  readonly #open = new Set<AbortController>()
  /** Connections that nothing was asked on yet. */
  readonly #unused = new Set<Socket>()
  #draining = false

  get isDraining(): boolean {
    return this.#draining
  }

  /**
   * Browsers and clients open connections ahead of need. The runtime closes only those that were
   * used before; the others would hold up a stop for as long as their owner likes.
   */
  follow(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#unused.add(socket)
      socket.once('close', () => this.#unused.delete(socket))
    })
    server.on('request', ({ socket }) => this.#unused.delete(socket))
    server.on('upgrade', ({ socket }) => this.#unused.delete(socket))
  }

  hold(socket: Socket): Hold {
    const controller = new AbortController()
    const gone = (): void => controller.abort()
    if (this.#draining || socket.destroyed) gone()
    this.#open.add(controller)
    socket.once('close', gone)
    const release = (): void => {
      this.#open.delete(controller)
      socket.off('close', gone)
    }
    return { signal: controller.signal, release }
  }

  /** Answers what is parked, ends what streams, closes what nobody uses. */
  drain(): void {
    this.#draining = true
    for (const socket of this.#unused) socket.destroy()
    for (const controller of this.#open) controller.abort()
  }
}

/** For reads that do not wait. */
export const NO_HOLD: Hold = { signal: new AbortController().signal, release: () => undefined }
