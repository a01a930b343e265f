import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { machineMs } from './measure.ts'

export interface StreamRequest {
  readonly port: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Precedes the commit time in every event. */
const MARK = '"Description":"'
const SAID_CHARS = 2_000

/** The server closed a stream. */
export class StreamEnded extends Error {
  override readonly name = 'StreamEnded'
}

/**
 * A reader of an event stream that only extracts commit times. Parsing every line for five hundred
 * readers would cost more CPU than the measured server.
 */
export class StreamReader {
  readonly #socket: Socket
  /** The end of the received text, where a mark may be incomplete. */
  #rest = ''
  /** Latency of each event in milliseconds. */
  agesMs: number[] = []
  /** The latest text: the headers, later the reason for closing the stream. */
  #said = ''

  static async open({ port, path, headers = {} }: StreamRequest): Promise<StreamReader> {
    const socket = connect({ port, host: '127.0.0.1' })
    await once(socket, 'connect')
    const reader = new StreamReader(socket)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`)
    await reader.#answered()
    return reader
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1').on('data', (text: string) => this.#take(text))
  }

  close(): void {
    this.#socket.resetAndDestroy()
  }

  /** Throws if the server closed the stream. */
  check(): void {
    const closed = /"Closed":"([^"]*)"/.exec(this.#said)?.[1]
    if (closed !== undefined || this.#socket.destroyed)
      throw new StreamEnded(`a stream ended: ${closed ?? 'the connection was closed'}`)
  }

  async #answered(): Promise<void> {
    while (!this.#said.includes('\r\n\r\n')) await once(this.#socket, 'data')
    if (!this.#said.startsWith('HTTP/1.1 200')) throw new Error(this.#said)
  }

  #take(text: string): void {
    const nowMs = machineMs()
    const all = this.#rest + text
    let end = 0
    for (let at = all.indexOf(MARK); at >= 0; at = all.indexOf(MARK, end)) {
      const quote = all.indexOf('"', at + MARK.length)
      if (quote < 0) break
      this.agesMs.push(nowMs - Number(all.slice(at + MARK.length, quote)))
      end = quote
    }
    this.#said = (this.#said + text.slice(-SAID_CHARS)).slice(-SAID_CHARS)
    this.#rest = all.slice(Math.max(end, all.length - 64))
  }
}
