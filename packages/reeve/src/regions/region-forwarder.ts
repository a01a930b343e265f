import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline, type Duplex } from 'node:stream'
import {
  endToEnd,
  headText,
  HOP_HEADER,
  onGone,
  passBody,
  rejectUpgrade,
} from '../cluster/index.ts'
import type { ForwardCallbacks, RegionTarget, RegionUpgrade } from '../http/index.ts'
import { blockingWaitMs, LIMITS } from '../model/index.ts'
import {
  setResponseTimeout,
  whenConnected,
  type RegionConnections,
  type ResponseTimeout,
} from './region-connection.ts'
import type { RegionDirectory } from './region-directory.ts'
import { REGION_HOP_HEADER, REGION_VIA_HEADER, withRegion, writeVia } from './region-hop.ts'
import { SilenceWatch, type RegionServer, type SilenceLimits } from './silence-watch.ts'
import { whyUnreached } from './why-unreached.ts'

/** How long forwarded requests and their streams may be without a sign of the other region. */
export interface ForwardLimits extends SilenceLimits {
  /** Until the response begins, over all servers that are tried. */
  readonly responseMsMax: number
  /** Until the next server is tried, for reads. */
  readonly attemptMsMax: number
}

const DEFAULT_LIMITS: ForwardLimits = {
  responseMsMax: LIMITS.forwardMsMax,
  attemptMsMax: LIMITS.forwardAttemptMsMax,
  silenceMs: LIMITS.forwardSilenceMs,
  probeMsMax: LIMITS.forwardProbeMsMax,
}

interface Exchange extends RegionTarget, ForwardCallbacks {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** When the response has to have begun, by the clock of `performance`. */
  readonly deadlineMs: number
}

/** Passes requests on to servers of other regions as they are, streams and upgrades included. */
export class RegionForwarder {
  readonly #directory: RegionDirectory
  readonly #connections: RegionConnections
  readonly #underWay = new Set<{ destroy(error?: Error): unknown }>()

  readonly #limits: ForwardLimits
  readonly #silence: SilenceWatch
  /** This server stops: nobody else is asked. */
  #isClosed = false

  constructor(
    directory: RegionDirectory,
    connections: RegionConnections,
    limits: Partial<ForwardLimits> = {},
  ) {
    this.#directory = directory
    this.#connections = connections
    this.#limits = { ...DEFAULT_LIMITS, ...limits }
    this.#silence = new SilenceWatch(connections, this.#limits)
  }

  forward(
    request: IncomingMessage,
    response: ServerResponse,
    to: RegionTarget & ForwardCallbacks,
  ): void {
    const addresses = this.#directory.addressesOf(to.region)
    const deadlineMs = performance.now() + this.#limits.responseMsMax + heldMs(request)
    this.#attempt({ ...to, request, response, deadlineMs }, addresses, false)
  }

  /**
   * The next server is asked only where the one before surely did nothing: it was not reached, or
   * nothing but a read was asked of it.
   */
  #attempt(exchange: Exchange, addresses: readonly string[], isSecondTry: boolean): void {
    const { request, response, region } = exchange
    const [address = '', ...others] = addresses
    const isRead = isReadOf(request)
    const asked = this.#ask(exchange, address, !isRead || isSecondTry)
    let hasLeft = false
    let isAnswered = false
    const timeout = setResponseTimeout(
      asked,
      this.#timeoutMs(exchange, isRead && others.length > 0),
    )
    whenConnected(asked, address, () => {
      hasLeft = true
      sendBody(exchange, asked, timeout)
    })
    asked.on('response', (answer) => {
      isAnswered = true
      this.#directory.answered(region, address)
      exchange.onResponse()
      const headers = endToEnd(answer.rawHeaders)
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers)
      // A stream may have nothing to say for long.
      response.flushHeaders()
      // Whichever side goes first ends the other.
      pipeline(answer, response, () => undefined)
    })
    const forget = onGone(response, () => asked.destroy())
    asked.on('error', (thrown) => {
      forget()
      // It has said all: that it hung up on the rest of the question is nothing to the caller.
      if (response.writableEnded) return
      // Who asked may have gone, which is no fault of the server.
      if (!response.destroyed) this.#directory.failed(region, address)
      // After the head of an answer there is no way to say it but to end.
      if (isAnswered) return void response.destroy()
      const mayAgain = (isRead || !hasLeft) && !response.destroyed && !this.#isClosed
      // A connection that had waited too long is no server that is away.
      if (mayAgain && asked.reusedSocket && !timeout.isOver)
        return this.#attempt(exchange, addresses, true)
      if (mayAgain && others.length > 0) return this.#attempt(exchange, others, false)
      exchange.onFailure(unreached(exchange, this.#why(thrown, address), hasLeft && !isRead))
    })
  }

  forwardUpgrade(request: IncomingMessage, client: Duplex, to: RegionUpgrade): void {
    client.on('error', () => undefined)
    this.#attemptUpgrade({ ...to, request, client }, this.#directory.addressesOf(to.region))
  }

  #attemptUpgrade(exchange: UpgradeExchange, addresses: readonly string[]): void {
    const { client, head } = exchange
    const [address = '', ...others] = addresses
    const asked = this.#ask(exchange, address, true)
    let hasLeft = false
    setResponseTimeout(asked, this.#limits.responseMsMax)
    whenConnected(asked, address, () => (hasLeft = true))
    const gone = (): void => void asked.destroy()
    client.on('close', gone)
    asked.on('upgrade', (answer, far, farHead) => {
      this.#directory.answered(exchange.region, address)
      client.write(headText(answer))
      this.#join(client, far, { region: exchange.region, address })
      if (farHead.length > 0) client.write(farHead)
      if (head.length > 0) far.write(head)
    })
    asked.on('response', (answer) => {
      client.write(headText(answer))
      pipeline(answer, client, () => undefined)
    })
    asked.on('error', (thrown) => {
      client.off('close', gone)
      if (client.destroyed) return
      this.#directory.failed(exchange.region, address)
      if (!hasLeft && others.length > 0 && !this.#isClosed)
        return this.#attemptUpgrade(exchange, others)
      rejectUpgrade(client, unreached(exchange, this.#why(thrown, address), hasLeft))
    })
    asked.end()
  }

  close(): void {
    this.#isClosed = true
    this.#silence.close()
    for (const one of this.#underWay) one.destroy(new Error('this server stops'))
  }

  #ask(
    exchange: Omit<Exchange, 'response' | 'deadlineMs' | keyof ForwardCallbacks>,
    address: string,
    alone: boolean,
  ) {
    const { request, region } = exchange
    const { method = 'GET', url = '/' } = request
    const asked = this.#connections.ask({
      region,
      address,
      method,
      url: withRegion(url, region),
      headers: headersOf(exchange, { address, own: this.#directory.own }),
      isAlone: alone,
    })
    this.#underWay.add(asked)
    let unwatch: () => void = () => undefined
    asked.on('socket', (socket) => {
      unwatch = this.#silence.watch({ region, address }, socket, (reason) => asked.destroy(reason))
    })
    asked.on('close', () => {
      unwatch()
      this.#underWay.delete(asked)
    })
    return asked
  }

  /** For one server; where another one is left, a silent one does not take all the time. */
  #timeoutMs({ request, deadlineMs }: Exchange, hasNext: boolean): number {
    const leftMs = Math.max(1, deadlineMs - performance.now())
    return hasNext ? Math.min(leftMs, this.#limits.attemptMsMax + heldMs(request)) : leftMs
  }

  #why(thrown: unknown, address: string): string {
    return whyUnreached(thrown, { address, hasAnswered: this.#directory.hasAnswered(address) })
  }

  #join(client: Duplex, far: Socket, server: RegionServer): void {
    const unwatch = this.#silence.watch(server, far, () => far.destroy())
    far.setTimeout(0)
    far.setNoDelay(true)
    far.on('error', () => undefined)
    client.pipe(far).pipe(client)
    client.on('close', () => far.destroy())
    this.#underWay.add(far)
    far.on('close', () => {
      unwatch()
      this.#underWay.delete(far)
      client.destroy()
    })
  }
}

interface UpgradeExchange extends RegionUpgrade {
  readonly request: IncomingMessage
  readonly client: Duplex
}

function isReadOf({ method = 'GET', headers }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && !hasBodyOf(headers)
}

/** How long the server may hold the response of a blocking query. */
function heldMs({ url = '' }: IncomingMessage): number {
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1))
  if (!query.has('index')) return 0
  const waitMs = blockingWaitMs(query.get('wait') ?? '') ?? 0
  return waitMs + waitMs / LIMITS.waitJitterShare
}

function hasBodyOf(headers: IncomingMessage['headers']): boolean {
  return 'content-length' in headers || 'transfer-encoding' in headers
}

/** A client may send its body slowly: the time for the response begins with the last part. */
function sendBody(
  { request, body }: Exchange,
  asked: ClientRequest,
  timeout: ResponseTimeout,
): void {
  if (body !== undefined) return void asked.end(body)
  if (!hasBodyOf(request.headers)) return void asked.end()
  passBody(request, asked)
  request.on('data', () => timeout.restart())
}

function headersOf(
  { request, body, reason }: Pick<Exchange, 'request' | 'body' | 'reason'>,
  { address, own }: { readonly address: string; readonly own: string },
): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = endToEnd(request.rawHeaders)
  // Of the servers of one region among themselves.
  for (const name of Object.keys(headers)) if (name.startsWith(HOP_HEADER)) delete headers[name]
  delete headers['expect']
  if (body !== undefined) {
    delete headers['content-encoding']
    headers['content-length'] = String(body.length)
  }
  const { upgrade, origin, host } = request.headers
  if (upgrade !== undefined) Object.assign(headers, { connection: 'upgrade', upgrade })
  // A page of this server is one of its own there too, because it was let in here.
  if (origin !== undefined && URL.parse(origin)?.host === host) headers['origin'] = address
  // Of two hops the first one is told of.
  if (headers[REGION_HOP_HEADER] === undefined)
    headers[REGION_VIA_HEADER] = writeVia(own, request.socket.remoteAddress ?? '')
  headers[REGION_HOP_HEADER] = reason
  return headers
}

function unreached(
  { region, reason }: Pick<Exchange, 'region' | 'reason'>,
  why: string,
  isInDoubt: boolean,
): string {
  const what =
    reason === 'authority' ? `the authoritative region "${region}"` : `region "${region}"`
  const outcome = isInDoubt ? ' What was asked for may or may not have happened.' : ''
  return `${what} did not answer (${why}); try again.${outcome}`
}
