import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AuditVia } from '@reeve/contract'
import { FORWARDED_HEADER } from '../cluster/index.ts'
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
} from '../proxy/index.ts'
import type {
  ForwardCallbacks,
  ForwardReason,
  RegionRouter,
  RegionTarget,
  RegionUpgrade,
} from '../http/index.ts'
import { blockingWaitMs, LIMITS } from '../model/index.ts'
import {
  setResponseTimeout,
  type RegionConnections,
  type ResponseTimeout,
  SilenceWatch,
  type RegionServer,
  type SilenceLimits,
  describeConnectionError,
} from './region-connections.ts'
import type { RegionDirectory } from './region-directory.ts'
import {
  REGION_FORWARD_HEADER,
  REGION_VIA_HEADER,
  withRegion,
  formatVia,
  parseForwardReason,
  parseVia,
} from './forward-headers.ts'

/** Time limits of forwarded requests and their streams. */
interface ForwardLimits extends SilenceLimits {
  /** Time until the response begins, over all servers that are tried. */
  readonly responseMsMax: number
  /** Time until the next server is tried, for reads. */
  readonly attemptMsMax: number
}

const DEFAULT_LIMITS: ForwardLimits = {
  responseMsMax: LIMITS.forwardTimeoutMs,
  attemptMsMax: LIMITS.forwardAttemptTimeoutMs,
  silenceMs: LIMITS.forwardSilenceMs,
  probeMsMax: LIMITS.forwardProbeTimeoutMs,
}

interface ProxiedRequest extends RegionTarget, ForwardCallbacks {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Time at which the response must have begun, by `performance.now()`. */
  readonly deadlineMs: number
}

/** Forwards requests to servers of other regions unchanged, including streams and upgrades. */
class RegionProxy {
  readonly #directory: RegionDirectory
  readonly #connections: RegionConnections
  readonly #inFlight = new InFlightExchanges()
  readonly #limits: ForwardLimits
  readonly #silenceWatch: SilenceWatch
  /** This server is stopping: no further servers are tried. */
  #isClosed = false

  constructor(
    directory: RegionDirectory,
    connections: RegionConnections,
    limits: Partial<ForwardLimits> = {},
  ) {
    this.#directory = directory
    this.#connections = connections
    this.#limits = { ...DEFAULT_LIMITS, ...limits }
    this.#silenceWatch = new SilenceWatch(connections, this.#limits)
  }

  forward(
    request: IncomingMessage,
    response: ServerResponse,
    to: RegionTarget & ForwardCallbacks,
  ): void {
    const addresses = this.#directory.addressesOf(to.region)
    const deadlineMs = performance.now() + this.#limits.responseMsMax + blockingMs(request)
    this.#attempt({ ...to, request, response, deadlineMs }, addresses, false)
  }

  /**
   * Tries the next server only if the previous one certainly did nothing: it was not reached, or
   * the request was a read.
   */
  #attempt(exchange: ProxiedRequest, addresses: readonly string[], isRetry: boolean): void {
    const { request, response, region } = exchange
    const [address = '', ...others] = addresses
    const isRead = isBodylessRead(request)
    const upstreamRequest = this.#request(exchange, address, !isRead || isRetry)
    let wasSent = false
    let hasResponse = false
    const timeout = setResponseTimeout(
      upstreamRequest,
      this.#timeoutMs(exchange, isRead && others.length > 0),
    )
    onConnected(upstreamRequest, () => {
      wasSent = true
      sendBody(exchange, upstreamRequest, timeout)
    })
    upstreamRequest.on('response', (upstreamResponse) => {
      hasResponse = true
      this.#directory.recordResponse(region, address)
      exchange.onResponse()
      relayResponse(upstreamResponse, response)
    })
    const removeListener = onClientDisconnect(response, () => upstreamRequest.destroy())
    upstreamRequest.on('error', (thrown) => {
      removeListener()
      // The response is complete: a reset of the unread request body is not an error.
      if (response.writableEnded) return
      // A client that disconnected is not a failure of the server.
      if (!response.destroyed) this.#directory.recordFailure(region, address)
      // The response has begun, so the only way to report a failure is to end it.
      if (hasResponse) return void response.destroy()
      const mayRetry = (isRead || !wasSent) && !response.destroyed && !this.#isClosed
      // An idle connection that the server had closed does not mean that the server is down.
      if (mayRetry && upstreamRequest.reusedSocket && !timeout.hasExpired)
        return this.#attempt(exchange, addresses, true)
      if (mayRetry && others.length > 0) return this.#attempt(exchange, others, false)
      exchange.onFailure(
        unreachableMessage(exchange, this.#describeError(thrown, address), wasSent && !isRead),
      )
    })
  }

  forwardUpgrade(request: IncomingMessage, client: Duplex, to: RegionUpgrade): void {
    client.on('error', () => undefined)
    this.#attemptUpgrade({ ...to, request, client }, this.#directory.addressesOf(to.region))
  }

  #attemptUpgrade(exchange: UpgradeExchange, addresses: readonly string[]): void {
    const { client, head: clientHead } = exchange
    const [address = '', ...others] = addresses
    const upstreamRequest = this.#request(exchange, address, true)
    let wasSent = false
    setResponseTimeout(upstreamRequest, this.#limits.responseMsMax)
    onConnected(upstreamRequest, () => (wasSent = true))
    const onClientClose = (): void => void upstreamRequest.destroy()
    client.on('close', onClientClose)
    upstreamRequest.on('upgrade', (upstreamResponse, upstreamSocket, upstreamHead) => {
      this.#directory.recordResponse(exchange.region, address)
      this.#watchUpgraded(upstreamSocket, { region: exchange.region, address })
      joinUpgraded(upstreamResponse, { client, clientHead, upstreamSocket, upstreamHead })
    })
    upstreamRequest.on('response', (upstreamResponse) =>
      relayUpgradeResponse(upstreamResponse, client),
    )
    upstreamRequest.on('error', (thrown) => {
      client.off('close', onClientClose)
      if (client.destroyed) return
      this.#directory.recordFailure(exchange.region, address)
      if (!wasSent && others.length > 0 && !this.#isClosed)
        return this.#attemptUpgrade(exchange, others)
      rejectUpgrade(
        client,
        unreachableMessage(exchange, this.#describeError(thrown, address), wasSent),
      )
    })
    upstreamRequest.end()
  }

  close(): void {
    this.#isClosed = true
    this.#silenceWatch.close()
    this.#inFlight.end('this server stops')
  }

  #request(
    exchange: Omit<ProxiedRequest, 'response' | 'deadlineMs' | keyof ForwardCallbacks>,
    address: string,
    usesOwnSocket: boolean,
  ) {
    const { request, region } = exchange
    const { method = 'GET', url = '/' } = request
    const upstreamRequest = this.#connections.request({
      region,
      address,
      method,
      url: withRegion(url, region),
      headers: forwardedHeaders(exchange, { address, localRegion: this.#directory.localRegion }),
      usesOwnSocket,
    })
    this.#inFlight.add(upstreamRequest, undefined)
    let unwatch: () => void = () => undefined
    upstreamRequest.on('socket', (socket) => {
      unwatch = this.#silenceWatch.watch({ region, address }, socket, (reason) =>
        upstreamRequest.destroy(reason),
      )
    })
    upstreamRequest.on('close', () => unwatch())
    return upstreamRequest
  }

  /** Timeout for one server; if others are left, a silent one does not use up all the time. */
  #timeoutMs({ request, deadlineMs }: ProxiedRequest, hasNext: boolean): number {
    const leftMs = Math.max(1, deadlineMs - performance.now())
    return hasNext ? Math.min(leftMs, this.#limits.attemptMsMax + blockingMs(request)) : leftMs
  }

  #describeError(thrown: unknown, address: string): string {
    return describeConnectionError(thrown, {
      address,
      hasAnswered: this.#directory.hasEverResponded(address),
    })
  }

  /** Ends an upgraded connection if its server is silent. */
  #watchUpgraded(upstreamSocket: Socket, server: RegionServer): void {
    this.#inFlight.add(upstreamSocket, undefined)
    const unwatch = this.#silenceWatch.watch(server, upstreamSocket, () => upstreamSocket.destroy())
    upstreamSocket.on('close', unwatch)
  }
}

interface UpgradeExchange extends RegionUpgrade {
  readonly request: IncomingMessage
  readonly client: Duplex
}

function isBodylessRead(request: IncomingMessage): boolean {
  const { method = 'GET' } = request
  return (method === 'GET' || method === 'HEAD') && !hasRequestBody(request)
}

/** How long the server may delay the response of a blocking query. */
function blockingMs({ url = '' }: IncomingMessage): number {
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1))
  if (!query.has('index')) return 0
  const waitMs = blockingWaitMs(query.get('wait') ?? '') ?? 0
  return waitMs + waitMs / LIMITS.waitJitterShare
}

/** Sends the body. A client may be slow, so the response timeout restarts with each part. */
function sendBody(
  { request, body }: ProxiedRequest,
  upstreamRequest: ClientRequest,
  timeout: ResponseTimeout,
): void {
  if (body !== undefined) return void upstreamRequest.end(body)
  if (!hasRequestBody(request)) return void upstreamRequest.end()
  pipeRequestBody(request, upstreamRequest)
  request.on('data', () => timeout.restart())
}

function forwardedHeaders(
  { request, body, reason }: Pick<ProxiedRequest, 'request' | 'body' | 'reason'>,
  { address, localRegion }: { readonly address: string; readonly localRegion: string },
): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = endToEndHeaders(request.rawHeaders)
  // These headers are for servers of one region only.
  for (const name of Object.keys(headers))
    if (name.startsWith(FORWARDED_HEADER)) delete headers[name]
  delete headers['expect']
  if (body !== undefined) {
    delete headers['content-encoding']
    headers['content-length'] = String(body.length)
  }
  const { upgrade, origin, host } = request.headers
  if (upgrade !== undefined) Object.assign(headers, { connection: 'upgrade', upgrade })
  // Pages of this server were allowed here, so they count as same-origin there too.
  if (origin !== undefined && URL.parse(origin)?.host === host) headers['origin'] = address
  // If a request is forwarded twice, the header records the first sender.
  if (headers[REGION_FORWARD_HEADER] === undefined)
    headers[REGION_VIA_HEADER] = formatVia(localRegion, request.socket.remoteAddress ?? '')
  headers[REGION_FORWARD_HEADER] = reason
  return headers
}

function unreachableMessage(
  { region, reason }: Pick<ProxiedRequest, 'region' | 'reason'>,
  problem: string,
  isInDoubt: boolean,
): string {
  const subject =
    reason === 'authority' ? `the authoritative region "${region}"` : `region "${region}"`
  const outcome = isInDoubt ? ' The request may or may not have happened.' : ''
  return `${subject} did not answer (${problem}); try again.${outcome}`
}

/** Routes requests that another region answers to that region. */
export class RemoteRegionRouter implements RegionRouter {
  readonly regions: RegionDirectory
  readonly #proxy: RegionProxy

  constructor(
    directory: RegionDirectory,
    connections: RegionConnections,
    /** Limits other than those of `model/limits.ts`. */
    limits?: Partial<ForwardLimits>,
  ) {
    this.regions = directory
    this.#proxy = new RegionProxy(directory, connections, limits)
  }

  forwardReasonOf({ headers }: IncomingMessage): ForwardReason | undefined {
    return parseForwardReason(headers[REGION_FORWARD_HEADER])
  }

  forwardedBy({ headers }: IncomingMessage): AuditVia | undefined {
    // A client can send the header too; it counts only on forwarded requests.
    if (headers[REGION_FORWARD_HEADER] === undefined) return undefined
    return parseVia(headers[REGION_VIA_HEADER])
  }

  forward(
    request: IncomingMessage,
    response: ServerResponse,
    target: RegionTarget & ForwardCallbacks,
  ): void {
    this.#proxy.forward(request, response, target)
  }

  forwardUpgrade(request: IncomingMessage, socket: Duplex, target: RegionUpgrade): void {
    this.#proxy.forwardUpgrade(request, socket, target)
  }

  /** Ends the requests that are being forwarded. */
  close(): void {
    this.#proxy.close()
  }
}
