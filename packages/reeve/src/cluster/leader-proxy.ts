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
import { FORWARDED_HEADER, signForward } from './forward-header.ts'
import {
  endToEndHeaders,
  formatResponseHead,
  setConnectTimeout,
  onConnected,
  onClientDisconnect,
  pipeRequestBody,
  rejectUpgrade,
} from './reverse-proxy.ts'

const CONNECTIONS_MAX = 1_024
/** Idle connections that are kept for later requests. */
const IDLE_CONNECTIONS_MAX = 64

interface LeaderProxyOptions {
  /** Shared secret of the servers of the cluster. */
  readonly key: Buffer
  readonly nowMs: () => number
  /**
   * TLS options for connections to other servers, read for each request; undefined for plain HTTP.
   */
  readonly dialOptions?: () => ConnectionOptions
}

/** Forwards requests to the leader unchanged, including bodies, streams and upgrades. */
export class LeaderProxy {
  readonly #options: LeaderProxyOptions
  readonly #agent: Agent
  /** Requests in progress with the leader's address; undefined if the request names its server. */
  readonly #inFlight = new Map<{ destroy(error?: Error): unknown }, string | undefined>()

  constructor(options: LeaderProxyOptions) {
    this.#options = options
    const pooled = {
      keepAlive: true,
      maxSockets: CONNECTIONS_MAX,
      maxFreeSockets: IDLE_CONNECTIONS_MAX,
    }
    this.#agent = options.dialOptions === undefined ? new Agent(pooled) : new SecureAgent(pooled)
  }

  forward(request: IncomingMessage, response: ServerResponse, target: ForwardDestination): void {
    const { address, isNamed } = target
    const { method = 'GET', url = '/' } = request
    let hasResponse = false
    let wasSent = false
    const hasBody = ['content-length', 'transfer-encoding'].some((name) => name in request.headers)
    const upstreamRequest = this.#request({
      ...hostAndPort(address),
      path: url,
      method,
      headers: this.#headers(request, address),
      agent: this.#agent,
    })
    this.#track(upstreamRequest, isNamed ? undefined : address)
    onConnected(upstreamRequest, () => (wasSent = true))
    upstreamRequest.on('response', (upstreamResponse) => {
      hasResponse = true
      target.onResponse()
      response.writeHead(
        upstreamResponse.statusCode ?? 502,
        upstreamResponse.statusMessage,
        endToEndHeaders(upstreamResponse.rawHeaders),
      )
      // A stream may be silent at first, so send its head now; a body of known length follows at
      // once.
      if (upstreamResponse.headers['content-length'] === undefined) response.flushHeaders()
      // The end of either side ends the other.
      pipeline(upstreamResponse, response, () => undefined)
    })
    upstreamRequest.on('error', (thrown) => {
      // The response is complete: a reset of the unread request body is not an error.
      if (response.writableEnded) return
      // The response has begun, so the only way to report a failure is to end it.
      if (hasResponse) response.destroy()
      else target.onFailure(unreachableMessage(target, thrown, { method, wasSent }))
    })
    onClientDisconnect(response, () => upstreamRequest.destroy())
    if (hasBody) pipeRequestBody(request, upstreamRequest)
    else upstreamRequest.end()
  }

  forwardUpgrade(
    request: IncomingMessage,
    client: Duplex,
    { head, address }: UpgradeDestination,
  ): void {
    const { method = 'GET', url = '/', headers } = request
    const upstreamRequest = this.#request({
      ...hostAndPort(address),
      path: url,
      method,
      headers: {
        ...this.#headers(request, address),
        connection: 'upgrade',
        upgrade: headers.upgrade ?? 'websocket',
      },
      // An upgraded connection cannot be reused.
      agent: false,
    })
    this.#track(upstreamRequest, address)
    client.on('error', () => upstreamRequest.destroy())
    upstreamRequest.on('upgrade', (upstreamResponse, leader, leaderHead) => {
      client.write(formatResponseHead(upstreamResponse))
      this.#tunnel(client, leader)
      this.#inFlight.set(leader, address)
      leader.on('close', () => this.#inFlight.delete(leader))
      if (leaderHead.length > 0) client.write(leaderHead)
      if (head.length > 0) leader.write(head)
    })
    upstreamRequest.on('response', (upstreamResponse) => {
      client.write(formatResponseHead(upstreamResponse))
      pipeline(upstreamResponse, client, () => undefined)
    })
    upstreamRequest.on('error', (thrown) =>
      rejectUpgrade(client, unreachableMessage({ address }, thrown, { method, wasSent: true })),
    )
    upstreamRequest.end()
  }

  /**
   * Ends the requests that were forwarded to a server other than the new leader: a suspended
   * process keeps its connections open and does not respond.
   */
  leaderChanged(address: string): void {
    for (const [upstreamRequest, to] of this.#inFlight)
      if (to !== undefined && to !== address)
        upstreamRequest.destroy(new Error('it does not lead any more'))
  }

  close(): void {
    for (const upstreamRequest of this.#inFlight.keys())
      upstreamRequest.destroy(new Error('this server stops'))
    this.#agent.destroy()
  }

  #request(options: RequestOptions): ClientRequest {
    const { dialOptions } = this.#options
    if (dialOptions === undefined) return ask(options)
    // The host header is the client's, so it must not become the TLS server name.
    return askSecurely({ ...options, ...dialOptions(), servername: '' })
  }

  #track(upstreamRequest: ClientRequest, address: string | undefined): void {
    this.#inFlight.set(upstreamRequest, address)
    upstreamRequest.on('close', () => this.#inFlight.delete(upstreamRequest))
    setConnectTimeout(upstreamRequest)
  }

  #tunnel(client: Duplex, leader: Socket): void {
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
    const headers: Record<string, string | string[]> = { ...endToEndHeaders(rawHeaders) }
    // The client's own host header: links and the cross-origin check depend on it.
    headers['host'] ??= address
    const claims = { caller: socket.remoteAddress ?? '', target: address, nowMs: nowMs() }
    headers[FORWARDED_HEADER] = signForward(key, { method, url, headers: request.headers }, claims)
    return headers
  }
}

interface ForwardDestination extends ForwardCallbacks {
  readonly address: string
  /** Whether the request names this server, so that a change of leader does not affect it. */
  readonly isNamed: boolean
}

interface UpgradeDestination {
  /** Bytes that were received after the request head. */
  readonly head: Buffer
  readonly address: string
}

/** Parses the address of the leader. The request does not influence the destination. */
function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { host, port: Number(address.slice(colon + 1)) }
}

function unreachableMessage(
  { address, isNamed = false }: Partial<ForwardDestination> & Pick<ForwardDestination, 'address'>,
  thrown: unknown,
  { method, wasSent }: { readonly method: string; readonly wasSent: boolean },
): string {
  const isRead = method === 'GET' || method === 'HEAD'
  const outcome = wasSent ? ' The request may or may not have happened.' : ' Nothing was done.'
  const server = isNamed ? 'server' : 'leader'
  return `the ${server} at ${address} did not answer (${errorMessage(thrown)}); try again.${isRead ? '' : outcome}`
}
