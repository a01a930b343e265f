import {
  CHANNEL_MESSAGE_BYTES_MAX,
  NODE_CHANNEL_PATH,
  NODE_STREAM_PATH,
  STREAM_MESSAGE_BYTES_MAX,
} from '@reeve/contract'
import type { IncomingMessage } from 'node:http'
import type { ConnectionOptions } from 'node:tls'
import { WebSocket } from 'ws'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../model/index.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Channel, Dial } from './link/channel.ts'

/** How a server is reached that speaks HTTPS; asked for each connection. */
export type DialTls = (server: string) => ConnectionOptions

/** Dials the servers in turn, so that an agent is not bound to the one it met first. */
export function websocketDial(
  given: readonly string[] | (() => readonly string[]),
  tls: DialTls = () => ({}),
): Dial {
  let turn = 0
  return () => {
    const servers = typeof given === 'function' ? given() : given
    const server = servers[turn % servers.length]
    turn += 1
    if (server === undefined) return Promise.reject(new Fault('dial', 'no server is configured'))
    return dialWebsocket(server, tls)
  }
}

/** Whether a server accepts the connections of nodes. */
export async function canDial(server: string, tls: DialTls = () => ({})): Promise<boolean> {
  try {
    const channel = await dialWebsocket(server, tls)
    channel.close()
    return true
  } catch (thrown) {
    if (thrown instanceof Fault) return false
    throw thrown
  }
}

/**
 * An all-zero mask, which leaves the bytes as they are. Masks keep scripts of web pages from
 * writing bytes of their choice past a proxy; an agent is none, and masking 1 GB of a followed log
 * takes agent and server a second each.
 */
function withoutMasking(mask: Buffer): void {
  mask.fill(0)
}

/** `server` is the base address of one: `http://127.0.0.1:4646`. */
async function dialWebsocket(server: string, tls: DialTls): Promise<Channel> {
  const socket = new WebSocket(channelUrl(server), {
    ...tls(server),
    maxPayload: CHANNEL_MESSAGE_BYTES_MAX,
    handshakeTimeout: AGENT_LIMITS.dialMsMax,
    // The messages are small and many; compressing each costs more than it saves.
    perMessageDeflate: false,
    generateMask: withoutMasking,
    followRedirects: false,
  })
  // Listens from the first moment: a server may speak or leave before the caller is ready.
  const channel = new SocketChannel(socket, (stream, secret) =>
    dialStream({ server, stream, secret, tls }),
  )
  const { promise, resolve, reject } = Promise.withResolvers<Channel>()
  socket.once('open', () => resolve(channel))
  channel.onClose((reason) => {
    reject(new Fault('dial', `cannot reach ${server}: ${withAdvice(reason, server)}`))
  })
  return promise
}

/** A server that rejects a certificate ends the connection without a word. */
function withAdvice(reason: string, server: string): string {
  return HANG_UPS.has(reason) && server.startsWith('https:')
    ? `${reason}; the server may reject the certificate of this node, its log says why`
    : reason
}

/** Messages of the runtime for a connection that ends before the response. */
const HANG_UPS: ReadonlySet<string> = new Set(['socket hang up', 'read ECONNRESET'])

export function channelUrl(server: string): string {
  return urlOf(server, NODE_CHANNEL_PATH)
}

function urlOf(server: string, path: string): string {
  const url = new URL(server)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  url.pathname = path
  url.search = ''
  url.hash = ''
  return url.href
}

interface StreamDial {
  readonly server: string
  readonly stream: string
  readonly secret: string
  readonly tls: DialTls
}

/** Dials back for a stream that the server asked for, and proves that it was asked. */
async function dialStream({ server, stream, secret, tls }: StreamDial): Promise<StreamSocket> {
  const url = urlOf(server, `${NODE_STREAM_PATH}/${encodeURIComponent(stream)}`)
  const socket = new WebSocket(url, {
    ...tls(server),
    maxPayload: STREAM_MESSAGE_BYTES_MAX,
    // One message per turn of the event loop: no stream keeps the agent from its other work.
    allowSynchronousEvents: false,
    handshakeTimeout: AGENT_LIMITS.dialMsMax,
    perMessageDeflate: false,
    generateMask: withoutMasking,
    followRedirects: false,
    headers: { authorization: `Bearer ${secret}` },
  })
  const { promise, resolve, reject } = Promise.withResolvers<StreamSocket>()
  socket.once('open', () => resolve(streamOf(socket)))
  // A listener for its whole life: an unheard 'error' event would end the process.
  socket.on('error', (error) => {
    reject(new Fault('dial', `cannot reach ${server}: ${error.message}`, { cause: error }))
  })
  return promise
}

/** Shared by every stream of this process: it is its memory that is bounded. */
const buffers = new StreamBuffers(LIMITS.nodeStreamBuffers)

function streamOf(socket: WebSocket): StreamSocket {
  const stream = new StreamSocket(socket, hostClock, {
    buffers,
    pingMs: LIMITS.nodeStreamPingMs,
    silentMsMax: LIMITS.nodeStreamSilentMsMax,
  })
  // With the default binaryType a message is one Buffer.
  socket.on('message', (data, isBinary) => stream.handleMessage(data as Buffer, !isBinary))
  socket.on('ping', () => stream.noteActivity())
  socket.on('pong', () => stream.noteActivity())
  socket.on('close', (code, reason) => stream.handleClose(code, reason.toString('utf8')))
  return stream
}

/** A connection lives by the time of the machine, whatever clock the agent is given. */
const hostClock: Clock = {
  nowMs: () => performance.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

class SocketChannel implements Channel {
  readonly openStream: NonNullable<Channel['openStream']>
  readonly #socket: WebSocket
  #receive: ((text: string) => void) | undefined
  readonly #closed: ((reason: string) => void)[] = []
  #error = ''
  #reason: string | undefined
  readonly #unread: string[] = []

  constructor(socket: WebSocket, openStream: NonNullable<Channel['openStream']>) {
    this.#socket = socket
    this.openStream = openStream
    socket.on('message', (data, isBinary) => {
      // Only text frames are part of the contract.
      if (isBinary) this.#fail('received a binary frame')
      else this.#deliver(textOf(data))
    })
    socket.on('error', (error) => {
      this.#error ||= error.message
    })
    socket.on('unexpected-response', (_request, answer) => {
      void refusalIn(answer).then((refusal) => this.#fail(refusal))
    })
    socket.on('close', (code, reason) => {
      this.#end(this.#error || reason.toString('utf8') || `closed with code ${code}`)
    })
  }

  send(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text)
  }

  onMessage(receive: (text: string) => void): void {
    this.#receive = receive
    for (const text of this.#unread.splice(0)) receive(text)
  }

  onClose(closed: (reason: string) => void): void {
    if (this.#reason === undefined) this.#closed.push(closed)
    else closed(this.#reason)
  }

  close(): void {
    // A peer that does not answer the close must not keep the socket: no grace is needed here.
    this.#socket.terminate()
  }

  #deliver(text: string): void {
    if (this.#receive !== undefined) this.#receive(text)
    else if (this.#unread.length < AGENT_LIMITS.unreadMessagesMax) this.#unread.push(text)
    else this.#fail('too many messages before the greeting')
  }

  #fail(reason: string): void {
    this.#error = reason
    this.#socket.terminate()
  }

  #end(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    for (const closed of this.#closed) closed(reason)
  }
}

/** A server that lets nobody in says why, in a sentence. */
async function refusalIn(answer: IncomingMessage): Promise<string> {
  let text = ''
  try {
    for await (const chunk of answer.setEncoding('utf8')) {
      text += String(chunk)
      if (text.length >= AGENT_LIMITS.refusalCharsMax) break
    }
  } catch {
    // What has come of it is told.
  }
  const said = text.slice(0, AGENT_LIMITS.refusalCharsMax).trim()
  return `it answered ${answer.statusCode}${said === '' ? '' : `: ${said}`}`
}

function textOf(data: WebSocket.RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8')
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8')
}
