import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Fault, messageOf } from '../../kit/fault.ts'

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
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the call. Without one it may take `ANSWER_MS_MAX`. */
  readonly signal?: AbortSignal
}

export interface EngineAnswer {
  readonly status: number
  readonly text: string
}

/**
 * A container engine behind its unix socket. Speaks the Engine API with plain HTTP. Every failure
 * to get an answer is a Fault `engine`; what the answer says is the caller's business.
 */
export class Engine {
  readonly socketPath: string
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 8, timeout: 60_000 })

  constructor(socketPath: string) {
    this.socketPath = socketPath
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
      throw unreachable(this.socketPath, thrown)
    }
    return { status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') }
  }

  /** The answer as a stream, once its head is there. The caller reads or destroys it. */
  open(call: EngineCall): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const request = this.#send(call)
    request.once('response', resolve)
    request.once('error', (error) => reject(unreachable(this.socketPath, error)))
    return promise
  }

  /**
   * Takes the connection over for raw bytes in both directions. The answer instead, when the engine
   * refuses.
   */
  hijack(call: EngineCall): Promise<Duplex | EngineAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<Duplex | EngineAnswer>()
    const headers = { ...call.headers, Connection: 'Upgrade', Upgrade: 'tcp' }
    const request = this.#send({ ...call, headers }, false)
    request.once('upgrade', (_response, socket, head) => {
      socket.setTimeout(0)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    request.once('response', (response) => {
      void wholeText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }))
    })
    request.once('error', (error) => reject(unreachable(this.socketPath, error)))
    return promise
  }

  /** Lets the process end. */
  close(): void {
    this.#agent.destroy()
  }

  #send(call: EngineCall, isShared = true): ClientRequest {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body)
    const query = new URLSearchParams(call.query)
    const request = httpRequest({
      socketPath: this.socketPath,
      method: call.method,
      path: `/${API_VERSION}${call.path}${query.size > 0 ? `?${query.toString()}` : ''}`,
      headers: {
        Host: 'engine',
        ...(body === undefined
          ? {}
          : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        ...call.headers,
      },
      agent: isShared ? this.#agent : false,
      ...(call.signal === undefined
        ? { signal: AbortSignal.timeout(ANSWER_MS_MAX) }
        : { signal: call.signal }),
    })
    request.end(body)
    return request
  }
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

function unreachable(socketPath: string, cause: unknown): Fault {
  const text = `the container engine at ${socketPath} does not answer: ${messageOf(cause)}`
  return new Fault('engine', text, { cause })
}

export function isSuccess(answer: EngineAnswer): boolean {
  // Engines differ in which success they tell: 200, 201 or 204.
  return answer.status >= 200 && answer.status < 300
}

/** The sentence of a refusal: its `message` where there is one. */
export function refusalText(answer: EngineAnswer): string {
  const message = member(parsed(answer.text), 'message')
  const text = typeof message === 'string' && message !== '' ? message : answer.text.trim()
  return `${text.slice(0, 1_000)} (status ${answer.status})`
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
