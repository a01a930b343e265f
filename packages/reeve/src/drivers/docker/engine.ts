import { readFile } from 'node:fs/promises'
import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { Agent as TlsAgent, request as httpsRequest } from 'node:https'
import type { Duplex, Readable } from 'node:stream'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { DOCKER_LIMITS } from './docker-limits.ts'

/** What the endpoints below have meant since then; later engines answer it too. */
const API_VERSION = 'v1.41'

/** How long the engine may take for an answer that needs no work. */
const ANSWER_MS_MAX = 30_000

/** Answers are descriptions of one container or a page of progress; a longer one is not read. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

interface EngineCall {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below the version: `/containers/json`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** In place of a body: sent as it is read, and closed whatever happens. */
  readonly upload?: Readable
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the call. Without one it may take `ANSWER_MS_MAX`. */
  readonly signal?: AbortSignal
}

export interface EngineAnswer {
  readonly status: number
  readonly text: string
}

/** An engine that listens on TCP. Without certificates anybody who reaches it is root there. */
export interface TcpEngine {
  readonly host: string
  readonly port: number
  readonly tls: EngineTls | undefined
}

/** Paths of PEM files. */
export interface EngineTls {
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
}

const CONNECTIONS = { keepAlive: true, maxFreeSockets: 8, timeout: 60_000 } as const

/**
 * A container engine behind its unix socket, or behind TCP. Speaks the Engine API with plain HTTP
 * or TLS. Every failure to get an answer is a Fault `engine`; what the answer says is the caller's
 * business.
 */
export class Engine {
  /** Empty for an engine behind TCP. */
  readonly socketPath: string
  readonly #tcp: TcpEngine | undefined
  #agent: Agent | undefined

  constructor(address: string | TcpEngine) {
    this.socketPath = typeof address === 'string' ? address : ''
    this.#tcp = typeof address === 'string' ? undefined : address
  }

  /** The whole answer, whatever its status. */
  async call(call: EngineCall): Promise<EngineAnswer> {
    const response = await this.open(call)
    const pieces: Buffer[] = []
    let size = 0
    try {
      for await (const piece of response) {
        // Node's streams of bytes give Buffers.
        const bytes = piece as Buffer
        size += bytes.length
        if (size > ANSWER_BYTES_MAX) throw new Error(`the answer is over ${ANSWER_BYTES_MAX} bytes`)
        pieces.push(bytes)
      }
    } catch (thrown) {
      response.destroy()
      throw this.#unreachable(thrown)
    }
    return { status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') }
  }

  /** The answer as a stream, once its head is there. The caller reads or destroys it. */
  async open(call: EngineCall): Promise<IncomingMessage> {
    const agent = await this.#connections()
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const request = this.#send(call, agent)
    request.once('response', resolve)
    request.once('error', (error) => reject(this.#unreachable(error)))
    return promise
  }

  /**
   * Takes the connection over for raw bytes in both directions. The answer instead, when the engine
   * refuses.
   */
  async hijack(call: EngineCall): Promise<Duplex | EngineAnswer> {
    const agent = await this.#connections()
    const { promise, resolve, reject } = Promise.withResolvers<Duplex | EngineAnswer>()
    const headers = { ...call.headers, Connection: 'Upgrade', Upgrade: 'tcp' }
    const request = this.#send({ ...call, headers }, agent, false)
    request.once('upgrade', (_response, socket, head) => {
      socket.setTimeout(0)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    request.once('response', (response) => {
      void wholeText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }))
    })
    request.once('error', (error) => reject(this.#unreachable(error)))
    return promise
  }

  /** Lets the process end. */
  close(): void {
    this.#agent?.destroy()
  }

  /** Certificates are read when they are first needed, and again after a connection failed. */
  async #connections(): Promise<Agent> {
    if (this.#agent !== undefined) return this.#agent
    try {
      const tls = this.#tcp?.tls
      const created =
        tls === undefined
          ? new Agent(CONNECTIONS)
          : new TlsAgent({ ...CONNECTIONS, ...(await certificates(tls)) })
      this.#agent ??= created
      return this.#agent
    } catch (thrown) {
      throw this.#unreachable(thrown)
    }
  }

  #send(call: EngineCall, agent: Agent, isShared = true): ClientRequest {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body)
    const query = new URLSearchParams(call.query)
    const tcp = this.#tcp
    const options = {
      ...(tcp === undefined
        ? { socketPath: this.socketPath }
        : { host: tcp.host, port: tcp.port, ...(isShared ? {} : tlsOf(agent)) }),
      method: call.method,
      path: `/${API_VERSION}${call.path}${query.size > 0 ? `?${query.toString()}` : ''}`,
      headers: {
        // Over TLS the certificate is checked against it.
        ...(tcp === undefined ? { Host: 'engine' } : {}),
        ...(body === undefined
          ? {}
          : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        ...call.headers,
      },
      agent: isShared ? agent : (false as const),
      signal: call.signal ?? AbortSignal.timeout(ANSWER_MS_MAX),
    }
    const request = tcp?.tls === undefined ? httpRequest(options) : httpsRequest(options)
    if (call.upload === undefined) request.end(body)
    else sendStream(call.upload, request)
    return request
  }

  #unreachable(cause: unknown): Fault {
    const tcp = this.#tcp
    // Not destroyed: other calls may still be under way on it.
    if (tcp?.tls !== undefined) this.#agent = undefined
    const where = tcp === undefined ? this.socketPath : `${tcp.host}:${tcp.port}`
    const text = `the container engine at ${where} does not answer: ${errorMessage(cause)}`
    return new Fault('engine', text, { cause })
  }
}

interface Certificates {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

async function certificates({ caFile, certFile, keyFile }: EngineTls): Promise<Certificates> {
  const read = async (file: string | undefined): Promise<string | undefined> =>
    file === undefined ? undefined : readFile(file, 'utf8')
  const [ca, cert, key] = await Promise.all([read(caFile), read(certFile), read(keyFile)])
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

/** A connection of its own shows the same certificates as the shared ones. */
function tlsOf(agent: Agent): Certificates {
  if (!(agent instanceof TlsAgent)) return {}
  const { ca, cert, key } = agent.options
  // Set by `certificates`, which reads texts.
  return { ca, cert, key } as Certificates
}

/** An engine that has heard enough answers before the end; what it says is then its answer. */
function sendStream(upload: Readable, request: ClientRequest): void {
  upload.once('error', (error) => request.destroy(error))
  request.once('close', () => upload.destroy())
  upload.pipe(request)
}

async function wholeText(response: IncomingMessage): Promise<string> {
  let text = ''
  try {
    for await (const piece of response) {
      if (text.length < ANSWER_BYTES_MAX) text += String(piece)
    }
  } catch {
    // Cut off: what has come so far says enough.
  }
  return text
}

export function isSuccess(answer: EngineAnswer): boolean {
  // Engines differ in which success they tell: 200, 201 or 204.
  return answer.status >= 200 && answer.status < 300
}

/** The sentence of a refusal: its `message` where there is one. */
export function refusalText(answer: EngineAnswer): string {
  const message = member(parsed(answer.text), 'message')
  const text = typeof message === 'string' && message !== '' ? message : answer.text.trim()
  return `${foreignText(text)} (status ${answer.status})`
}

/** A text that a registry, an engine or a helper wrote, for messages: one line, not too long. */
export function foreignText(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, DOCKER_LIMITS.foreignTextCharsMax)
}

/** What a JSON text says; undefined when it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A value deep inside an answer; undefined where the path ends early. */
export function member(value: unknown, ...path: readonly string[]): unknown {
  let at = value
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = Reflect.get(at, name)
  }
  return at
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = member(value, ...path)
  return typeof found === 'string' ? found : ''
}

export function numberAt(value: unknown, ...path: readonly string[]): number {
  const found = member(value, ...path)
  return typeof found === 'number' && Number.isFinite(found) ? found : 0
}
