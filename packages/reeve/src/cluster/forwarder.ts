import {
  Agent,
  request as ask,
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { pipeline, type Duplex } from 'node:stream'
import { messageOf } from '../kit/fault.ts'
import { HOP_HEADER, signHop } from './hop.ts'

/** The leader is on the same network: who takes longer is not there. */
const CONNECT_MS_MAX = 2_000
const CONNECTIONS_MAX = 1_024
/** Connections that wait for the next request. */
const IDLE_MAX = 64

/** Headers that are about one connection only (RFC 9110 §7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export interface ForwarderOptions {
  /** What servers of one cluster know each other by. */
  readonly key: Buffer
  readonly nowMs: () => number
}

/** Passes requests on to the leader as they are: bodies, streams and upgrades included. */
export class Forwarder {
  readonly #options: ForwarderOptions
  readonly #agent = new Agent({
    keepAlive: true,
    maxSockets: CONNECTIONS_MAX,
    maxFreeSockets: IDLE_MAX,
  })
  /** What is under way, and to whom. */
  readonly #underWay = new Map<{ destroy(error?: Error): unknown }, string>()

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  forward(request: IncomingMessage, response: ServerResponse, to: Target): void {
    const { address } = to
    const { method = 'GET', url = '/' } = request
    let isAnswered = false
    const hasBody = ['content-length', 'transfer-encoding'].some((name) => name in request.headers)
    const asked = ask({
      ...placeOf(address),
      path: url,
      method,
      headers: this.#headers(request, address),
      agent: this.#agent,
    })
    this.#note(asked, address)
    asked.on('response', (answer) => {
      isAnswered = true
      to.answering()
      response.writeHead(
        answer.statusCode ?? 502,
        answer.statusMessage,
        endToEnd(answer.rawHeaders),
      )
      // Whichever side goes first ends the other.
      pipeline(answer, response, () => undefined)
    })
    asked.on('error', (thrown) => {
      // After the head of an answer there is no way to say it but to end.
      if (isAnswered) response.destroy()
      else to.failed(unreached(address, method, thrown))
    })
    response.on('close', () => asked.destroy())
    if (hasBody) pipeline(request, asked, () => undefined)
    else asked.end()
  }

  forwardUpgrade(request: IncomingMessage, client: Duplex, { head, address }: Upgrade): void {
    const { method = 'GET', url = '/', headers } = request
    const asked = ask({
      ...placeOf(address),
      path: url,
      method,
      headers: {
        ...this.#headers(request, address),
        connection: 'upgrade',
        upgrade: headers.upgrade ?? 'websocket',
      },
      // A connection that is upgraded cannot be used again.
      agent: false,
    })
    this.#note(asked, address)
    client.on('error', () => asked.destroy())
    asked.on('upgrade', (answer, leader, leaderHead) => {
      client.write(headText(answer))
      this.#join(client, leader)
      this.#underWay.set(leader, address)
      leader.on('close', () => this.#underWay.delete(leader))
      if (leaderHead.length > 0) client.write(leaderHead)
      if (head.length > 0) leader.write(head)
    })
    asked.on('response', (answer) => {
      client.write(headText(answer))
      pipeline(answer, client, () => undefined)
    })
    asked.on('error', (thrown) => refuseUpgrade(client, unreached(address, method, thrown)))
    asked.end()
  }

  /**
   * * Ends what waits for anybody but the leader of now: one that sleeps keeps its connections
   * open and answers nothing.
   */
  leadBy(address: string): void {
    for (const [asked, to] of this.#underWay)
      if (to !== address) asked.destroy(new Error('it does not lead any more'))
  }

  close(): void {
    this.leadBy('')
    this.#agent.destroy()
  }

  #note(asked: ClientRequest, address: string): void {
    this.#underWay.set(asked, address)
    asked.on('close', () => this.#underWay.delete(asked))
    limitConnect(asked)
  }

  #join(client: Duplex, leader: Socket): void {
    leader.setTimeout(0)
    leader.setNoDelay(true)
    for (const socket of [client, leader]) socket.on('error', () => undefined)
    client.pipe(leader).pipe(client)
    client.on('close', () => leader.destroy())
    leader.on('close', () => client.destroy())
  }

  #headers({ method = 'GET', url = '/', rawHeaders }: IncomingMessage, address: string) {
    const headers: Record<string, string | string[]> = { ...endToEnd(rawHeaders) }
    headers['host'] = address
    headers[HOP_HEADER] = signHop(this.#options.key, { method, url }, this.#options.nowMs())
    return headers
  }
}

/** What becomes of a request that is passed on; one of them is called, once. */
export interface Forwarding {
  /** The leader answers: from now on the response is written here. */
  readonly answering: () => void
  /** It does not, for this reason: nothing was written. */
  readonly failed: (why: string) => void
}

interface Target extends Forwarding {
  readonly address: string
}

interface Upgrade {
  /** What came behind the request already. */
  readonly head: Buffer
  readonly address: string
}

/** Never from the request: whatever it asks for, it is asked of the leader. */
function placeOf(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { host, port: Number(address.slice(colon + 1)) }
}

/** Only the way there is timed: an answer may take as long as a blocking query waits. */
function limitConnect(asked: ClientRequest): void {
  asked.on('socket', (socket) => {
    if (!socket.connecting) return
    const timer = setTimeout(() => asked.destroy(new Error('no connection')), CONNECT_MS_MAX)
    const settle = (): void => clearTimeout(timer)
    socket.once('connect', settle).once('close', settle)
  })
}

function endToEnd(rawHeaders: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    const value = rawHeaders[at + 1] ?? ''
    if (HOP_BY_HOP.has(name)) continue
    const known = headers[name]
    headers[name] = known === undefined ? value : [known, value].flat()
  }
  return headers
}

/** The head of an answer as it goes over the wire; parsers read header bytes as latin1. */
function headText({ statusCode = 502, statusMessage = '', rawHeaders }: IncomingMessage): Buffer {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`]
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

function unreached(address: string, method: string, thrown: unknown): string {
  const isRead = method === 'GET' || method === 'HEAD'
  const doubt = isRead ? '' : ' What was asked for may or may not have happened.'
  return `the leader at ${address} did not answer (${messageOf(thrown)}); try again.${doubt}`
}

export function refuseUpgrade(socket: Duplex, why: string): void {
  const body = Buffer.from(why)
  const head = `HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n`
  socket.end(`${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${why}`)
}
