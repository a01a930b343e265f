import {
  Agent,
  request as ask,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import { Agent as SecureAgent, request as askSecurely } from 'node:https'
import type { Duplex } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import type { ForwardCallbacks } from '../http/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { FORWARDED_HEADER, signForward } from './forward-header.ts'
import {
  endToEndHeaders,
  hasRequestBody,
  InFlightExchanges,
  joinUpgraded,
  onClientDisconnect,
  onConnected,
  pipeRequestBody,
  rejectUpgrade,
  relayResponse,
  relayUpgradeResponse,
  setConnectTimeout,
  UPSTREAM_POOL,
} from '../proxy/index.ts'

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
  /** Noted is the leader's address; undefined if the request names its server. */
  readonly #inFlight = new InFlightExchanges<string | undefined>()

  constructor(options: LeaderProxyOptions) {
    this.#options = options
    this.#agent =
      options.dialOptions === undefined ? new Agent(UPSTREAM_POOL) : new SecureAgent(UPSTREAM_POOL)
  }

  forward(request: IncomingMessage, response: ServerResponse, target: ForwardDestination): void {
    const { address, isNamed } = target
    const { method = 'GET', url = '/' } = request
    let hasResponse = false
    let wasSent = false
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
      relayResponse(upstreamResponse, response)
    })
    upstreamRequest.on('error', (thrown) => {
      // The response is complete: a reset of the unread request body is not an error.
      if (response.writableEnded) return
      // The response has begun, so the only way to report a failure is to end it.
      if (hasResponse) response.destroy()
      else target.onFailure(unreachableMessage(target, thrown, { method, wasSent }))
    })
    onClientDisconnect(response, () => upstreamRequest.destroy())
    if (hasRequestBody(request)) pipeRequestBody(request, upstreamRequest)
    else upstreamRequest.end()
  }

  forwardUpgrade(
    request: IncomingMessage,
    client: Duplex,
    { head: clientHead, address }: UpgradeDestination,
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
    let wasSent = false
    onConnected(upstreamRequest, () => (wasSent = true))
    upstreamRequest.on('upgrade', (upstreamResponse, upstreamSocket, upstreamHead) => {
      this.#inFlight.add(upstreamSocket, address)
      joinUpgraded(upstreamResponse, { client, clientHead, upstreamSocket, upstreamHead })
    })
    upstreamRequest.on('response', (upstreamResponse) =>
      relayUpgradeResponse(upstreamResponse, client),
    )
    upstreamRequest.on('error', (thrown) =>
      rejectUpgrade(client, unreachableMessage({ address }, thrown, { method, wasSent })),
    )
    upstreamRequest.end()
  }

  /**
   * Ends the requests that were forwarded to a server other than the new leader: a suspended
   * process keeps its connections open and does not respond.
   */
  leaderChanged(address: string): void {
    this.#inFlight.end('it does not lead any more', (to) => to !== undefined && to !== address)
  }

  close(): void {
    this.#inFlight.end('this server stops')
    this.#agent.destroy()
  }

  #request(options: RequestOptions): ClientRequest {
    const { dialOptions } = this.#options
    if (dialOptions === undefined) return ask(options)
    // The host header is the client's, so it must not become the TLS server name.
    return askSecurely({ ...options, ...dialOptions(), servername: '' })
  }

  #track(upstreamRequest: ClientRequest, address: string | undefined): void {
    this.#inFlight.add(upstreamRequest, address)
    setConnectTimeout(upstreamRequest)
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
