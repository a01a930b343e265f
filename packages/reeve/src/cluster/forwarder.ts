import {
  Agent,
  request as ask,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import { Agent as SecureAgent, request as askSecurely } from 'node:https'
import type { Socket } from 'node:net'
import { pipeline, type Duplex } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import type { ForwardCallbacks } from '../http/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { HOP_HEADER, signHop } from './hop.ts'
import {
  endToEnd,
  headText,
  limitConnect,
  onConnect,
  onGone,
  passBody,
  rejectUpgrade,
} from './wire.ts'

const CONNECTIONS_MAX = 1_024
/** Connections that wait for the next request. */
const IDLE_MAX = 64

export interface ForwarderOptions {
  /** What servers of one cluster know each other by. */
  readonly key: Buffer
  readonly nowMs: () => number
  /** How the leader is reached where servers speak HTTPS; asked for each request. */
  readonly dialOptions?: () => ConnectionOptions
}

/** Passes requests on to the leader as they are: bodies, streams and upgrades included. */
export class Forwarder {
  readonly #options: ForwarderOptions
  readonly #agent: Agent
  /** Requests in progress with the address of the leader; undefined if one names its server. */
  readonly #underWay = new Map<{ destroy(error?: Error): unknown }, string | undefined>()

  constructor(options: ForwarderOptions) {
    this.#options = options
    const pooled = { keepAlive: true, maxSockets: CONNECTIONS_MAX, maxFreeSockets: IDLE_MAX }
    this.#agent = options.dialOptions === undefined ? new Agent(pooled) : new SecureAgent(pooled)
  }

  forward(request: IncomingMessage, response: ServerResponse, to: Target): void {
    const { address, isNamed } = to
    const { method = 'GET', url = '/' } = request
    let isAnswered = false
    let hasLeft = false
    const hasBody = ['content-length', 'transfer-encoding'].some((name) => name in request.headers)
    const asked = this.#ask({
      ...placeOf(address),
      path: url,
      method,
      headers: this.#headers(request, address),
      agent: this.#agent,
    })
    this.#note(asked, isNamed ? undefined : address)
    onConnect(asked, () => (hasLeft = true))
    asked.on('response', (answer) => {
      isAnswered = true
      to.onResponse()
      response.writeHead(
        answer.statusCode ?? 502,
        answer.statusMessage,
        endToEnd(answer.rawHeaders),
      )
      // A stream may have nothing to say for long; what has a length goes with its head.
      if (answer.headers['content-length'] === undefined) response.flushHeaders()
      // Whichever side goes first ends the other.
      pipeline(answer, response, () => undefined)
    })
    asked.on('error', (thrown) => {
      // It has said all: that it hung up on the rest of the question is nothing to the caller.
      if (response.writableEnded) return
      // After the head of an answer there is no way to say it but to end.
      if (isAnswered) response.destroy()
      else to.onFailure(unreached(to, thrown, { method, hasLeft }))
    })
    onGone(response, () => asked.destroy())
    if (hasBody) passBody(request, asked)
    else asked.end()
  }

  forwardUpgrade(request: IncomingMessage, client: Duplex, { head, address }: Upgrade): void {
    const { method = 'GET', url = '/', headers } = request
    const asked = this.#ask({
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
    asked.on('error', (thrown) =>
      rejectUpgrade(client, unreached({ address }, thrown, { method, hasLeft: true })),
    )
    asked.end()
  }

  /**
   * Ends the requests that were forwarded to another server than the new leader: a suspended
   * process keeps its connections open and responds to nothing.
   */
  leaderChanged(address: string): void {
    for (const [asked, to] of this.#underWay)
      if (to !== undefined && to !== address) asked.destroy(new Error('it does not lead any more'))
  }

  close(): void {
    for (const asked of this.#underWay.keys()) asked.destroy(new Error('this server stops'))
    this.#agent.destroy()
  }

  #ask(options: RequestOptions): ClientRequest {
    const { dialOptions } = this.#options
    if (dialOptions === undefined) return ask(options)
    // The host header is the caller's; the name that is checked is not.
    return askSecurely({ ...options, ...dialOptions(), servername: '' })
  }

  #note(asked: ClientRequest, address: string | undefined): void {
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

  #headers(request: IncomingMessage, address: string) {
    const { method = 'GET', url = '/', rawHeaders, socket } = request
    const { key, nowMs } = this.#options
    const headers: Record<string, string | string[]> = { ...endToEnd(rawHeaders) }
    // As the caller wrote it: links and the check of a page's origin are about the server it asked.
    headers['host'] ??= address
    const passed = { caller: socket.remoteAddress ?? '', target: address, nowMs: nowMs() }
    headers[HOP_HEADER] = signHop(key, { method, url, headers: request.headers }, passed)
    return headers
  }
}

interface Target extends ForwardCallbacks {
  readonly address: string
  /** Whether the request names this server: a change of the leader does not affect it. */
  readonly isNamed: boolean
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

function unreached(
  { address, isNamed = false }: Partial<Target> & Pick<Target, 'address'>,
  thrown: unknown,
  { method, hasLeft }: { readonly method: string; readonly hasLeft: boolean },
): string {
  const isRead = method === 'GET' || method === 'HEAD'
  const outcome = hasLeft
    ? ' What was asked for may or may not have happened.'
    : ' Nothing was done.'
  const server = isNamed ? 'server' : 'leader'
  return `the ${server} at ${address} did not answer (${errorMessage(thrown)}); try again.${isRead ? '' : outcome}`
}
