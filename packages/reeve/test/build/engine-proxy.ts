/**
 * Stands between the docker driver and a real engine. It can be away for a while, as an engine that
 * restarts is, and it can make podman answer the way the Docker Engine does where the two differ.
 */
import { createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { constants } from 'node:os'
import type { Duplex } from 'node:stream'
import { rm } from 'node:fs/promises'
import { send } from './fake-container.ts'

export type ProxyManner = 'as-is' | 'docker'

export interface ProxyOptions {
  readonly socketPath: string
  /** The socket of the engine behind it. */
  readonly target: string
  readonly manner: ProxyManner
}

/** What one request is, without the version in front of its path. */
interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

export class EngineProxy {
  readonly socketPath: string
  /** Every request that came, as `METHOD /path`. */
  readonly requests: string[] = []
  /** The engine goes away when it has carried out such a request, before it can say so. */
  interruptsAfter: RegExp | undefined
  readonly #options: ProxyOptions
  readonly #sockets = new Set<Duplex>()
  #server: Server | undefined
  #interrupted: Promise<void> = Promise.resolve()

  /** Listening. To be closed by the caller. */
  static async open(options: ProxyOptions): Promise<EngineProxy> {
    const proxy = new EngineProxy(options)
    await proxy.resume()
    return proxy
  }

  constructor(options: ProxyOptions) {
    this.#options = options
    this.socketPath = options.socketPath
  }

  get isAway(): boolean {
    return this.#server === undefined
  }

  /** The engine goes away: connections break, and nobody listens. */
  interrupt(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server !== undefined) this.#interrupted = this.#stop(server)
    return this.#interrupted
  }

  async #stop(server: Server): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    server.closeAllConnections()
    await closed
    await rm(this.socketPath, { force: true })
  }

  /** The engine is back. */
  async resume(): Promise<void> {
    // An interruption under way would remove the new socket.
    await this.#interrupted
    const server = createServer((asked, answer) => void this.#relay(asked, answer))
    server.on('connection', (socket) => this.#keep(socket))
    server.on('upgrade', (asked, socket, first) => void this.#relayRaw(asked, socket, first))
    await new Promise<void>((resolve) => server.listen(this.socketPath, () => resolve()))
    this.#server = server
  }

  close(): Promise<void> {
    return this.interrupt()
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  async #relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = readRequest(request)
    this.requests.push(`${asked.method} ${asked.path}`)
    const isDocker = this.#options.manner === 'docker'
    const isCreate = isDocker && asked.path === '/containers/create'
    const sent = isCreate ? await textOf(request) : undefined
    const body = sent === undefined ? undefined : await this.#withHostname(sent)
    const refused = isDocker ? refusalOf(asked, sent) : undefined
    if (refused !== undefined) {
      request.resume()
      send(response, refused.status, refused.body)
      return
    }
    const { method = 'GET', url = '/' } = request
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const headers = { ...request.headers, ...length }
    const options = { socketPath: this.#options.target, headers, method, path: url }
    const upstream = httpRequest(options, (answer) => {
      void this.#answer(asked, answer, response)
    })
    upstream.once('error', () => response.destroy())
    response.once('close', () => upstream.destroy())
    if (body === undefined) request.pipe(upstream)
    else upstream.end(body)
  }

  /** In the Docker Engine a container has the name of the one whose network it joins. */
  async #withHostname(body: string): Promise<string> {
    const spec: unknown = parsed(body)
    const joined = joinedContainer(spec)
    if (joined === undefined) return body
    const path = `/v1.41/containers/${joined}/json`
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    httpRequest({ socketPath: this.#options.target, path }, resolve).once('error', reject).end()
    const found: unknown = parsed(await textOf(await promise))
    const Hostname: unknown = Reflect.get(Object(Reflect.get(Object(found), 'Config')), 'Hostname')
    return JSON.stringify({ ...Object(spec), Hostname })
  }

  async #answer(asked: Asked, answer: IncomingMessage, response: ServerResponse): Promise<void> {
    answer.on('error', () => response.destroy())
    if (this.interruptsAfter?.test(`${asked.method} ${asked.path}`) === true) {
      this.interruptsAfter = undefined
      return this.interrupt()
    }
    const status = answer.statusCode ?? 500
    const rewrite = this.#options.manner === 'docker' ? rewriteOf(asked, status) : undefined
    if (rewrite === undefined) {
      response.writeHead(status, answer.headers)
      response.flushHeaders()
      // A body that breaks off must not look whole.
      answer.once('close', () => (answer.complete ? undefined : response.destroy()))
      answer.pipe(response)
      return
    }
    const given = parsed(await textOf(answer))
    const { status: said, body } = rewrite({ status, body: given })
    response.setHeader('Server', 'Docker/24.0.7 (linux)')
    if (said === 204) response.writeHead(204).end()
    else send(response, said, body)
  }

  async #relayRaw(request: IncomingMessage, socket: Duplex, first: Buffer): Promise<void> {
    const asked = readRequest(request)
    this.requests.push(`${asked.method} ${asked.path}`)
    this.#keep(socket)
    const target: Socket = connect(this.#options.target)
    this.#keep(target)
    const lines = [`${asked.method} ${request.url ?? '/'} HTTP/1.1`]
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      lines.push(`${request.rawHeaders[at] ?? ''}: ${request.rawHeaders[at + 1] ?? ''}`)
    }
    // The first raw bytes are those behind the body.
    socket.unshift(first)
    target.write(`${lines.join('\r\n')}\r\n\r\n${await textOf(request)}`)
    socket.pipe(target)
    target.pipe(socket)
    target.once('close', () => socket.destroy())
    socket.once('close', () => target.destroy())
  }
}

function readRequest(request: IncomingMessage): Asked {
  const url = new URL(request.url ?? '/', 'http://engine')
  const path = url.pathname.replace(/^\/v\d\.\d+/, '')
  const { method = 'GET', headers } = request
  return { method, path, query: url.searchParams, headers }
}

async function textOf(stream: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  // Node's streams of bytes give Buffers.
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}

/** What the Docker Engine refuses and podman takes. */
function refusalOf(asked: Asked, body: string | undefined): Answer | undefined {
  const auth = asked.headers['x-registry-auth']
  if (typeof auth === 'string' && !isStrictBase64Url(auth)) {
    const message = 'invalid X-Registry-Auth header: illegal base64 data'
    return { status: 400, body: { message } }
  }
  if (asked.path === '/containers/create') return refusalOfCreate(parsed(body ?? ''))
  if (asked.path.startsWith('/libpod/')) {
    return { status: 404, body: { message: 'page not found' } }
  }
  const signal = asked.path.endsWith('/kill') ? asked.query.get('signal') : null
  if (signal === null || isSignal(signal)) return undefined
  return { status: 400, body: { message: `Invalid signal: ${signal}` } }
}

/** Padding is part of it: the Docker Engine decodes with Go's URLEncoding. */
function isStrictBase64Url(text: string): boolean {
  return /^[A-Za-z0-9_-]*={0,2}$/.test(text) && text.length % 4 === 0
}

function isSignal(text: string): boolean {
  const number = Number(text)
  if (Number.isInteger(number)) return number > 0 && number <= 64
  return signalNames().has(text.startsWith('SIG') ? text : `SIG${text}`)
}

const VOLUME_MODES =
  /^(?:(?:ro|rw|z|Z|nocopy|r?shared|r?slave|r?private|consistent|cached|delegated)(?:,|$))*$/

function joinedContainer(spec: unknown): string | undefined {
  const host: unknown = Reflect.get(Object(spec), 'HostConfig')
  return /^container:(.+)$/.exec(String(Reflect.get(Object(host), 'NetworkMode') ?? ''))?.[1]
}

/** What belongs to the network, and cannot be said of a container that joins another's. */
function conflictOf(spec: unknown): string | undefined {
  if (joinedContainer(spec) === undefined) return undefined
  const host: unknown = Reflect.get(Object(spec), 'HostConfig')
  const isGiven = (value: unknown): boolean => {
    return typeof value === 'string' ? value !== '' : Object.keys(Object(value)).length > 0
  }
  const own = ['Hostname', 'MacAddress', 'ExposedPorts', 'NetworkingConfig']
  const ofHost = ['Dns', 'ExtraHosts', 'PortBindings', 'Links']
  return (
    own.find((name) => isGiven(Reflect.get(Object(spec), name))) ??
    ofHost.find((name) => isGiven(Reflect.get(Object(host), name)))
  )
}

/** It joins no namespace by a path, and knows no overlay mounts. */
function refusalOfCreate(spec: unknown): Answer | undefined {
  const host: unknown = Reflect.get(Object(spec), 'HostConfig')
  const mode = String(Reflect.get(Object(host), 'NetworkMode') ?? '')
  if (mode.startsWith('ns:')) return { status: 404, body: { message: `network ${mode} not found` } }
  const conflict = conflictOf(spec)
  if (conflict !== undefined) {
    const message = `conflicting options: ${conflict} and the network mode`
    return { status: 400, body: { message } }
  }
  const binds: unknown = Reflect.get(Object(host), 'Binds')
  for (const bind of Array.isArray(binds) ? binds : []) {
    const options = String(bind).split(':')[2] ?? ''
    if (VOLUME_MODES.test(options)) continue
    const message = `invalid volume specification: '${String(bind)}': invalid mode: ${options}`
    return { status: 400, body: { message } }
  }
  return undefined
}

/** Undefined where the two engines answer alike. */
function rewriteOf(asked: Asked, status: number): ((answer: Answer) => Answer) | undefined {
  const { method, path } = asked
  if (path === '/version') return ({ body }) => ({ status, body: dockerVersion(body) })
  if (path === '/info') return ({ body }) => ({ status, body: dockerInfo(body) })
  if (/^\/(containers|images)\/.+\/json$/.test(path)) {
    return ({ body }) => ({ status, body: withSignalName(body) })
  }
  if (/^\/(exec|containers)\/[^/]+\/resize$/.test(path) && status === 201) {
    return ({ body }) => ({ status: 200, body })
  }
  if (method === 'POST' && path.endsWith('/kill') && status === 500) return notRunning
  return undefined
}

function dockerVersion(body: unknown): unknown {
  const Components = [{ Name: 'Engine', Version: '24.0.7', Details: {} }]
  const Platform = { Name: 'Docker Engine - Community' }
  return { ...Object(body), Version: '24.0.7', ApiVersion: '1.43', Components, Platform }
}

function dockerInfo(body: unknown): unknown {
  return { ...Object(body), ServerVersion: '24.0.7', InitBinary: 'docker-init' }
}

/** Podman says the number of a stop signal, the Docker Engine what the image or task wrote. */
function withSignalName(body: unknown): unknown {
  const config: unknown = Reflect.get(Object(body), 'Config')
  const number = Number(Reflect.get(Object(config), 'StopSignal'))
  const entry = Object.entries(constants.signals).find(([, value]) => value === number)
  if (entry === undefined) return body
  return { ...Object(body), Config: { ...Object(config), StopSignal: entry[0] } }
}

function notRunning({ status, body }: Answer): Answer {
  const message = String(Reflect.get(Object(body), 'message') ?? '')
  return /not running|state/.test(message) ? { status: 409, body } : { status, body }
}

function signalNames(): ReadonlySet<string> {
  return new Set(Object.keys(constants.signals))
}
