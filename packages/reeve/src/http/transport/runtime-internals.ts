import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/**
 * Access to undocumented members of Node's HTTP classes. Only this file reads or writes them, and
 * each function reports if Node differs from what it expects, so that its caller can fall back to
 * documented methods. `server.plain_http` turns all of them off; the bench `transport` measures
 * their benefit (docs/contributing/measurements/requests.md).
 */

/** The members of a connection's HTTP parser that Node's own upgrade uses. */
interface Parser {
  unconsume(): void
  remove(): void
  close(): void
  pause?: () => void
  /**
   * Returns a copy of the bytes that are being parsed; works only inside a callback of the parser.
   */
  getCurrentBuffer?: () => Buffer
}

interface HttpSocket extends Socket {
  parser?: (Parser & Record<string | number, unknown>) | null
}

function parserOf(socket: Socket): HttpSocket['parser'] {
  return (socket as HttpSocket).parser // Every socket of an HTTP server may have one.
}

/** Returns the bytes that the parser of a connection is reporting. */
export function parsedBytes(socket: Socket): Buffer | undefined {
  return parserOf(socket)?.getCurrentBuffer?.()
}

/** Stops the parser of a connection after the bytes that it has received. */
export function pauseParser(socket: Socket): boolean {
  const pause = parserOf(socket)?.pause
  if (typeof pause !== 'function') return false
  pause.call(parserOf(socket))
  return true
}

/** Reports whether the connection is writing this response, and no earlier one. */
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

/** Detaches a connection from its HTTP parser and its response, as Node does for an upgrade. */
export function detachParser(socket: Socket, response: ServerResponse): boolean {
  const parser = parserOf(socket)
  if (!hasExpectedMembers(parser)) return false
  response.detachSocket(socket)
  parser.unconsume()
  parser.remove()
  for (const name of Object.keys(parser)) parser[name] = null
  Reflect.set(socket, 'parser', null)
  // Overwritten, not deleted: deleting a property makes a socket a kilobyte larger.
  for (const name of ['on', 'addListener', 'prependListener', 'setEncoding'] as const)
    Reflect.set(socket, name, Socket.prototype[name])
  for (const event of HTTP_EVENTS)
    for (const listener of socket.listeners(event).slice(initialListenerCount(event)))
      // EventEmitter returns its listeners as Function.
      socket.off(event, listener as () => void)
  socket.setTimeout(0)
  // The parser may still be on the call stack.
  setImmediate(() => parser.close())
  return true
}

function hasExpectedMembers(
  parser: HttpSocket['parser'],
): parser is NonNullable<HttpSocket['parser']> {
  if (parser === undefined || parser === null) return false
  return ['unconsume', 'remove', 'close'].every((name) => typeof parser[name] === 'function')
}

/** Returns the number of listeners that a new socket has. */
function initialListenerCount(event: (typeof HTTP_EVENTS)[number]): number {
  return event === 'end' ? 1 : 0
}

/** Sets the complete head of a response as text, which is then written together with the body. */
export function setRawHead(response: ServerResponse, head: string): boolean {
  if (Reflect.get(response, '_header') !== null) return false
  Reflect.set(response, '_header', head)
  if (response.headersSent) return true
  Reflect.set(response, '_header', null)
  return false
}
