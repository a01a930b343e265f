import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface HttpAnswer {
  readonly status: number
  /** The status line and headers as received. */
  readonly head: string
  readonly body: Buffer
}

/**
 * A keep-alive connection that sends one request at a time. It supports only responses with
 * Content-Length: a full HTTP client costs more CPU than the measured servers, and they share the
 * machine.
 */
export class HttpConnection {
  readonly #socket: Socket
  #received: Buffer = NOTHING
  #waiting: PromiseWithResolvers<HttpAnswer> | undefined

  static async open(port: number): Promise<HttpConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    return new HttpConnection(socket)
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', (error) => this.#waiting?.reject(error))
    socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')))
  }

  /** Sends a request created by `requestText`. */
  send(request: string): Promise<HttpAnswer> {
    if (this.#socket.destroyed) throw new Error('the connection is closed')
    this.#waiting = Promise.withResolvers<HttpAnswer>()
    this.#socket.write(request)
    return this.#waiting.promise
  }

  /**
   * Closes the connection with a reset, which avoids ports in TIME_WAIT: benchmarks open thousands.
   */
  close(): void {
    this.#waiting = undefined
    this.#socket.resetAndDestroy()
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = this.#received.toString('latin1', 0, headEnd)
    const length = CONTENT_LENGTH.exec(head)?.[1]
    if (length === undefined) throw new Error(`an answer without a length: ${head}`)
    const end = headEnd + 4 + Number(length)
    if (this.#received.length < end) return
    const body = this.#received.subarray(headEnd + 4, end)
    this.#received = NOTHING
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve({ status: Number(head.slice(9, 12)), head, body })
  }
}

const CONTENT_LENGTH = /\ncontent-length: *(\d+)/i
const NOTHING = Buffer.alloc(0)

/** A keep-alive request; a POST if it has a body. */
export function requestText(path: string, body?: unknown): string {
  if (body === undefined) return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`
  const text = JSON.stringify(body)
  const length = Buffer.byteLength(text)
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${length}\r\n\r\n${text}`
}

export async function openConnections(port: number, count: number): Promise<HttpConnection[]> {
  return await Promise.all(Array.from({ length: count }, () => HttpConnection.open(port)))
}

/** Sends a request and requires status 200. */
export async function sendOk(connection: HttpConnection, request: string): Promise<HttpAnswer> {
  const answer = await connection.send(request)
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.body.toString()}`)
  return answer
}
