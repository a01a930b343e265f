import { createServer as createPlain, type RequestListener, type Server } from 'node:http'
import { createServer as createSecure } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import type { Tls } from '../tls/index.ts'

/** The server before closes its port within a moment. */
const TRY_MS = 10

export interface KeptPort {
  readonly host: string
  readonly port: number
  readonly tls: Tls | undefined
}

/**
 * Answers on the port of a server while that begins anew: callers are told so and try another,
 * where a closed port would look like a machine that is gone.
 */
export class PortKeeper {
  readonly #place: KeptPort
  readonly #server: Server
  readonly #trying: Promise<void>
  #isOver = false

  constructor(place: KeptPort) {
    this.#place = place
    const { tls } = place
    this.#server =
      tls === undefined ? createPlain(refuse) : createSecure(tls.listenOptions(), refuse)
    this.#server.on('upgrade', (_request, socket) => {
      socket.on('error', () => undefined)
      socket.end(`HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n${BEGINS_ANEW}`)
    })
    this.#trying = this.#listen()
  }

  /**
   * Frees the port and has another server listen on it. Both happen in one turn of the event loop,
   * so the port is closed for less than a millisecond.
   */
  async handOver<T>(listen: () => Promise<T>): Promise<T> {
    await this.#stopTrying()
    const closed = this.#close()
    try {
      return await listen()
    } finally {
      await closed
    }
  }

  /** Closes the port. */
  async close(): Promise<void> {
    await this.#stopTrying()
    await this.#close()
  }

  async #stopTrying(): Promise<void> {
    this.#isOver = true
    await this.#trying
  }

  /** The port is free as soon as this returns; the promise waits for the connections. */
  #close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    this.#server.closeAllConnections()
    return promise
  }

  async #listen(): Promise<void> {
    while (!this.#isOver && !(await this.#isListening())) await wait(TRY_MS)
  }

  async #isListening(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const failed = (): void => resolve(false)
    const listening = (): void => resolve(true)
    const { host, port } = this.#place
    this.#server.once('error', failed).once('listening', listening).listen({ host, port })
    const isListening = await promise
    this.#server.off('error', failed).off('listening', listening)
    return isListening
  }
}

const BEGINS_ANEW = 'no leader: this server begins anew as a follower; try again, or ask another'

const refuse: RequestListener = ({ url = '' }, response) => {
  const isJson = url.startsWith('/api/v2/')
  const errors = [{ status: '503', title: 'service unavailable', detail: BEGINS_ANEW }]
  response.writeHead(503, {
    'content-type': isJson ? 'application/vnd.api+json' : 'text/plain; charset=utf-8',
    connection: 'close',
  })
  response.end(isJson ? JSON.stringify({ errors }) : BEGINS_ANEW)
}
