import { createServer, connect, type Server, type Socket } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { atEnd } from './at-end.ts'

/** A server is named by the port in the name of its socket. */
const SOCKET = '.s.PGSQL.5432'

/** What is to happen to the next question that holds a text. */
export type Mishap =
  /** It never arrives; the connection is cut. */
  | 'lose-question'
  /** It arrives and is answered; the answer is lost with the connection. */
  | 'lose-answer'

/** Stands between a client and a PostgreSQL, and cuts the line when a test says so. */
export class PostgresProxy {
  readonly #server: Server
  readonly #folder: string
  readonly #sockets = new Set<Socket>()
  #isHanging = false
  #planned: { readonly mishap: Mishap; readonly text: string } | undefined
  #struck: (() => void) | undefined

  static async start(t: TestContext, serverFolder: string): Promise<PostgresProxy> {
    const folder = await mkdtemp(join(tmpdir(), 'pg-'))
    atEnd(t, () => rm(folder, { recursive: true, force: true }))
    const proxy = new PostgresProxy(folder, serverFolder)
    await new Promise<void>((resolve) => proxy.#server.listen(join(folder, SOCKET), resolve))
    atEnd(t, () => new Promise((resolve) => proxy.#server.close(resolve)))
    return proxy
  }

  private constructor(folder: string, serverFolder: string) {
    this.#folder = folder
    this.#server = createServer((client) => {
      const server = connect(join(serverFolder, SOCKET))
      this.#join(client, server)
    })
  }

  /** The same database, by way of the proxy. */
  url(direct: string): string {
    const url = new URL(direct)
    url.searchParams.set('host', this.#folder)
    return url.href
  }

  /** While it hangs, connections are accepted and nothing passes; it goes on where it stopped. */
  set isHanging(value: boolean) {
    this.#isHanging = value
    for (const socket of this.#sockets)
      if (value) socket.pause()
      else socket.resume()
  }

  /** Resolves when it has happened. */
  plan(mishap: Mishap, text: string): Promise<void> {
    return new Promise((resolve) => {
      this.#planned = { mishap, text }
      this.#struck = resolve
    })
  }

  #join(client: Socket, server: Socket): void {
    let isAnswerLost = false
    const cut = (): void => {
      client.destroy()
      server.destroy()
    }
    client.on('data', (chunk) => {
      const mishap = this.#take(chunk)
      if (mishap === 'lose-question') {
        cut()
        return this.#struck?.()
      }
      isAnswerLost ||= mishap === 'lose-answer'
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      if (!isAnswerLost) return void client.write(chunk)
      cut()
      this.#struck?.()
    })
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      socket.on('close', cut).on('error', cut)
      if (this.#isHanging) socket.pause()
    }
  }

  #take(chunk: Buffer): Mishap | undefined {
    if (this.#planned === undefined || !chunk.includes(this.#planned.text)) return undefined
    const { mishap } = this.#planned
    this.#planned = undefined
    return mishap
  }
}
