import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/**
 * The members of Node's HTTP classes that are not documented. Only this file reads or writes them,
 * and each function reports when the runtime differs from what it expects, so that its caller
 * takes the documented way. `server.plain_http` turns all of them off; the bench `transport`
 * measures what each one gains (docs/contributing/measurements/requests.md).
 */

/** The HTTP parser of a connection, as far as the runtime's own upgrade path uses it. */
interface Parser {
  unconsume(): void
  remove(): void
  close(): void
  pause?: () => void
  /** A copy of the bytes that are being parsed; only while the parser calls back. */
  getCurrentBuffer?: () => Buffer
}

interface HttpSocket extends Socket {
  parser?: (Parser & Record<string | number, unknown>) | null
}

function parserOf(socket: Socket): HttpSocket['parser'] {
  return (socket as HttpSocket).parser // Every socket of an HTTP server may have one.
}

/** The bytes that the parser of a connection reports at this moment. */
export function parsedBytes(socket: Socket): Buffer | undefined {
  return parserOf(socket)?.getCurrentBuffer?.()
}

/** Stops the parser of a connection after the bytes it has received. */
export function pauseParser(socket: Socket): boolean {
  const pause = parserOf(socket)?.pause
  if (typeof pause !== 'function') return false
  pause.call(parserOf(socket))
  return true
}

/** Whether a connection writes this response, and no earlier one. */
export function isBeingWritten(response: ServerResponse, socket: Socket): boolean {
  return Reflect.get(socket, '_httpMessage') === response
}

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

/**
 * Detaches a connection from its HTTP parser and its response: what the runtime does when a
 * connection is upgraded, without the upgrade.
 */
export function detachParser(socket: Socket, response: ServerResponse): boolean {
  const parser = parserOf(socket)
  if (!isKnown(parser)) return false
  response.detachSocket(socket)
  parser.unconsume()
  parser.remove()
  for (const name of Object.keys(parser)) parser[name] = null
  Reflect.set(socket, 'parser', null)
  // Overwritten, not deleted: a socket that loses a property takes a kilobyte more.
  for (const name of ['on', 'addListener', 'prependListener', 'setEncoding'] as const)
    Reflect.set(socket, name, Socket.prototype[name])
  for (const event of HTTP_EVENTS)
    for (const listener of socket.listeners(event).slice(ownListeners(event)))
      // EventEmitter returns its listeners as Function.
      socket.off(event, listener as () => void)
  socket.setTimeout(0)
  // The parser may be further up on the stack.
  setImmediate(() => parser.close())
  return true
}

function isKnown(parser: HttpSocket['parser']): parser is NonNullable<HttpSocket['parser']> {
  if (parser === undefined || parser === null) return false
  return ['unconsume', 'remove', 'close'].every((name) => typeof parser[name] === 'function')
}

/** Listeners that a socket has when it is created. */
function ownListeners(event: (typeof HTTP_EVENTS)[number]): number {
  return event === 'end' ? 1 : 0
}

/** Gives a response its whole head as text, which is then written in one piece with the body. */
export function putHead(response: ServerResponse, head: string): boolean {
  if (Reflect.get(response, '_header') !== null) return false
  Reflect.set(response, '_header', head)
  if (response.headersSent) return true
  Reflect.set(response, '_header', null)
  return false
}
