import { createServer as createPlain, type RequestListener, type Server } from 'node:http'
import { createServer as createSecure } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import type { TlsCredentials } from '../tls/index.ts'

/** Delay between attempts; the previous server closes its port quickly. */
const RETRY_MS = 10

interface PlaceholderOptions {
  readonly host: string
  readonly port: number
  readonly tls: TlsCredentials | undefined
}

/**
 * Listens on the port of a server while it reopens and tells callers to try another server. A
 * closed port would look like an unreachable machine.
 */
export class PlaceholderServer {
  readonly #options: PlaceholderOptions
  readonly #server: Server
  readonly #binding: Promise<void>
  #isStopped = false

  constructor(place: PlaceholderOptions) {
    this.#options = place
    const { tls } = place
    this.#server =
      tls === undefined
        ? createPlain(rejectRequest)
        : createSecure(tls.listenOptions(), rejectRequest)
    this.#server.on('upgrade', (_request, socket) => {
      socket.on('error', () => undefined)
      socket.end(
        `HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n${REOPENING_MESSAGE}`,
      )
    })
    this.#binding = this.#listen()
  }

  /**
   * Frees the port and lets the server listen on it, in one turn of the event loop: the port is
   * closed for less than a millisecond.
   */
  async handOver<T>(listen: () => Promise<T>): Promise<T> {
    await this.#stopBinding()
    const closed = this.#close()
    try {
      return await listen()
    } finally {
      await closed
    }
  }

  /** Closes the port. */
  async close(): Promise<void> {
    await this.#stopBinding()
    await this.#close()
  }

  async #stopBinding(): Promise<void> {
    this.#isStopped = true
    await this.#binding
  }

  /** Frees the port before it returns; the promise waits for open connections. */
  #close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    this.#server.closeAllConnections()
    return promise
  }

  async #listen(): Promise<void> {
    while (!this.#isStopped && !(await this.#isListening())) await wait(RETRY_MS)
  }

  async #isListening(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const failed = (): void => resolve(false)
    const listening = (): void => resolve(true)
    const { host, port } = this.#options
    this.#server.once('error', failed).once('listening', listening).listen({ host, port })
    const isListening = await promise
    this.#server.off('error', failed).off('listening', listening)
    return isListening
  }
}

const REOPENING_MESSAGE = 'no leader: this server restarts as a follower; try again, or ask another'

const rejectRequest: RequestListener = ({ url = '' }, response) => {
  const isJson = url.startsWith('/api/v2/')
  const errors = [{ status: '503', title: 'service unavailable', detail: REOPENING_MESSAGE }]
  response.writeHead(503, {
    'content-type': isJson ? 'application/vnd.api+json' : 'text/plain; charset=utf-8',
    connection: 'close',
  })
  response.end(isJson ? JSON.stringify({ errors }) : REOPENING_MESSAGE)
}
