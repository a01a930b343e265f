import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/**
 * What a connection costs while its request waits is mostly the HTTP parser and the two message
 * objects: 12 of 15 KB, measured (decision 0012). So a waiting request gives them back, keeps its
 * own text, and is asked again when there is something to answer. This is the one place that knows
 * how the runtime ties a parser to a socket; where it is tied otherwise, nothing is taken over and
 * the request waits as it is.
 */

/** The runtime's parser, as far as its own upgrade path uses it. */
interface Parser {
  unconsume(): void
  remove(): void
  close(): void
}

/** What the runtime keeps on a socket that speaks HTTP. */
interface HttpSocket extends Socket {
  parser?: (Parser & Record<string | number, unknown>) | null
  /** Ours: the bytes read when the latest request and the one before it were complete. */
  [READ]?: number
  [READ_BEFORE]?: number
  /** Ours: how many requests have come. */
  [REQUESTS]?: number
  /** Ours: the next request was asked before and must not wait again. */
  [ASKED_AGAIN]?: boolean
}

const READ = Symbol('bytes read')
const READ_BEFORE = Symbol('bytes read before')
const REQUESTS = Symbol('requests')
const NUMBER = Symbol('number')
const ASKED_AGAIN = Symbol('asked again')

const HTTP_EVENTS = [
  'data',
  'end',
  'close',
  'drain',
  'error',
  'timeout',
  'resume',
  'pause',
] as const
/** Bytes that may arrive behind a request that waits: more than any client sends unasked. */
const EARLY_BYTES_MAX = 64 * 1024

interface NumberedRequest extends IncomingMessage {
  /** Ours: which one of its connection it is. */
  [NUMBER]?: number
}

/** Remembers where each request of a connection began. */
export function followConnections(server: Server): void {
  server.prependListener('request', (request: NumberedRequest) => {
    // Every socket of an HTTP server is one that speaks HTTP.
    const socket = request.socket as HttpSocket
    request[NUMBER] = socket[REQUESTS] = (socket[REQUESTS] ?? 0) + 1
    socket[READ_BEFORE] = socket[READ] ?? 0
    socket[READ] = socket.bytesRead
    if (socket[ASKED_AGAIN] === true) askedAgain.add(request)
    socket[ASKED_AGAIN] = false
  })
}

/** Requests that waited already, whatever becomes of them. */
const askedAgain = new WeakSet<IncomingMessage>()

/** Whether a request waited already, and must not wait again. */
export function wasAskedAgain(request: IncomingMessage): boolean {
  return askedAgain.has(request)
}

/** A connection without its request. */
export interface ParkedConnection {
  /** Gives the connection back to the server, which reads the request once more. */
  askAgain(): void
}

/**
 * Takes a connection from the server while its request waits; undefined when that cannot be done.
 * `gone` is called when the caller hangs up.
 */
export function takeOver(
  request: NumberedRequest,
  response: ServerResponse,
  gone: () => void,
): ParkedConnection | undefined {
  const socket = request.socket as HttpSocket // as above
  // An encrypted connection is tied to the server in another way.
  if (socket instanceof TLSSocket) return undefined
  const { parser } = socket
  if (!isKnown(parser) || !mayWaitAlone(request, response)) return undefined
  // Another one came behind it, in the same turn.
  if (request[NUMBER] !== socket[REQUESTS]) return undefined
  const text = textOf(request)
  // Anything more or less than its own text: something of another request is with the parser.
  if (socket.bytesRead - (socket[READ_BEFORE] ?? 0) !== text.length) return undefined
  // The server's own property says where to give it back to.
  const { server } = socket as unknown as { readonly server: Server }
  response.detachSocket(socket)
  detach(socket, parser)
  return park(socket, { text, server, gone })
}

function isKnown(parser: HttpSocket['parser']): parser is NonNullable<HttpSocket['parser']> {
  if (parser === undefined || parser === null) return false
  return ['unconsume', 'remove', 'close'].every((name) => typeof parser[name] === 'function')
}

/** It has no body, and its connection waits for no other answer. */
function mayWaitAlone({ headers, httpVersion, socket }: IncomingMessage, response: ServerResponse) {
  return (
    !socket.destroyed &&
    // The response that the connection is written by now.
    Reflect.get(socket, '_httpMessage') === response &&
    httpVersion === '1.1' &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined
  )
}

function textOf({ method, url, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/1.1`]
  for (let at = 0; at < rawHeaders.length; at += 2)
    lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`)
  // The parser reads header bytes as latin1.
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/** What the runtime does when a connection is upgraded, without the upgrade. */
function detach(socket: HttpSocket, parser: NonNullable<HttpSocket['parser']>): void {
  parser.unconsume()
  parser.remove()
  for (const name of Object.keys(parser)) parser[name] = null
  socket.parser = null
  // Written over, not deleted: a socket that lost a property takes a kilobyte more.
  for (const name of ['on', 'addListener', 'prependListener', 'setEncoding'] as const)
    Reflect.set(socket, name, Socket.prototype[name])
  for (const event of HTTP_EVENTS)
    for (const listener of socket.listeners(event).slice(ownListeners(event)))
      // EventEmitter hands out its listeners as Function.
      socket.off(event, listener as () => void)
  socket.setTimeout(0)
  // Its stack may not have unwound yet.
  setImmediate(() => parser.close())
}

/** Listeners a socket has from its birth, and keeps. */
function ownListeners(event: (typeof HTTP_EVENTS)[number]): number {
  return event === 'end' ? 1 : 0
}

interface Parked {
  readonly text: Buffer
  readonly server: Server
  readonly gone: () => void
}

function park(socket: HttpSocket, { text, server, gone }: Parked): ParkedConnection {
  const early: Buffer[] = []
  let earlyBytes = 0
  const onData = (bytes: Buffer): void => {
    early.push(bytes)
    earlyBytes += bytes.length
    if (earlyBytes > EARLY_BYTES_MAX) socket.destroy()
  }
  // A caller that has ended its side waits for nothing any more.
  const onEnd = (): void => void socket.destroy()
  const onError = (): void => undefined
  socket.on('data', onData).on('end', onEnd).on('error', onError).on('close', gone)
  socket.resume()
  return {
    askAgain: () => {
      socket.off('data', onData).off('end', onEnd).off('error', onError).off('close', gone)
      if (socket.destroyed) return
      socket[ASKED_AGAIN] = true
      socket.pause()
      socket.unshift(Buffer.concat([text, ...early]))
      server.emit('connection', socket)
      socket.resume()
    },
  }
}
