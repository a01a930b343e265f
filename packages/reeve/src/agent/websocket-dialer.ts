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
import type { Channel, Dialer } from './link/channel.ts'

/** TLS options for one server that uses HTTPS; called for each connection. */
type TlsOptionsForServer = (server: string) => ConnectionOptions

/** Dials the servers round-robin, so that an agent is not bound to the first one. */
export function websocketDialer(
  serversOrLookup: readonly string[] | (() => readonly string[]),
  tls: TlsOptionsForServer = () => ({}),
): Dialer {
  let attempt = 0
  return () => {
    const servers = typeof serversOrLookup === 'function' ? serversOrLookup() : serversOrLookup
    const server = servers[attempt % servers.length]
    attempt += 1
    if (server === undefined) return Promise.reject(new Fault('dial', 'no server is configured'))
    return dialWebsocket(server, tls)
  }
}

/** Whether a server accepts the connections of nodes. */
export async function isReachable(
  server: string,
  tls: TlsOptionsForServer = () => ({}),
): Promise<boolean> {
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
 * Masks frames with zeros, which leaves the bytes unchanged. Masking protects proxies from scripts
 * in web pages; an agent is not one, and masking 1 GB of a followed log costs agent and server a
 * second each.
 */
function disableMasking(mask: Buffer): void {
  mask.fill(0)
}

/** Connects to the server at this base address, such as `http://127.0.0.1:4646`. */
async function dialWebsocket(server: string, tls: TlsOptionsForServer): Promise<Channel> {
  const socket = new WebSocket(channelUrl(server), {
    ...tls(server),
    maxPayload: CHANNEL_MESSAGE_BYTES_MAX,
    handshakeTimeout: AGENT_LIMITS.dialTimeoutMs,
    // The messages are small and many; compressing each costs more than it saves.
    perMessageDeflate: false,
    generateMask: disableMasking,
    followRedirects: false,
  })
  // Registers the listeners immediately: a server may send or close before the caller is ready.
  const channel = new WebSocketChannel(socket, (stream, secret) =>
    dialStream({ server, stream, secret, tls }),
  )
  const { promise, resolve, reject } = Promise.withResolvers<Channel>()
  socket.once('open', () => resolve(channel))
  channel.onClose((reason) => {
    reject(new Fault('dial', `cannot reach ${server}: ${withCertificateHint(reason, server)}`))
  })
  return promise
}

/**
 * Adds a hint about certificates: a server that rejects one closes the connection without a
 * message.
 */
function withCertificateHint(reason: string, server: string): string {
  return CONNECTION_RESET_MESSAGES.has(reason) && server.startsWith('https:')
    ? `${reason}; the server may reject the certificate of this node, its log says why`
    : reason
}

/** Messages of the runtime for a connection that ends before the response. */
const CONNECTION_RESET_MESSAGES: ReadonlySet<string> = new Set([
  'socket hang up',
  'read ECONNRESET',
])

export function channelUrl(server: string): string {
  return webSocketUrl(server, NODE_CHANNEL_PATH)
}

function webSocketUrl(server: string, path: string): string {
  const url = new URL(server)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  url.pathname = path
  url.search = ''
  url.hash = ''
  return url.href
}

interface StreamDialOptions {
  readonly server: string
  readonly stream: string
  readonly secret: string
  readonly tls: TlsOptionsForServer
}

/**
 * Connects for a stream that the server requested, and proves with the secret that it was
 * requested.
 */
async function dialStream({
  server,
  stream,
  secret,
  tls,
}: StreamDialOptions): Promise<StreamSocket> {
  const url = webSocketUrl(server, `${NODE_STREAM_PATH}/${encodeURIComponent(stream)}`)
  const socket = new WebSocket(url, {
    ...tls(server),
    maxPayload: STREAM_MESSAGE_BYTES_MAX,
    // Delivers one message per event loop iteration, so that no stream starves the rest of the
    // agent.
    allowSynchronousEvents: false,
    handshakeTimeout: AGENT_LIMITS.dialTimeoutMs,
    perMessageDeflate: false,
    generateMask: disableMasking,
    followRedirects: false,
    headers: { authorization: `Bearer ${secret}` },
  })
  const { promise, resolve, reject } = Promise.withResolvers<StreamSocket>()
  socket.once('open', () => resolve(streamSocketOver(socket)))
  // Keeps an error listener for the whole lifetime: an unhandled 'error' event would end the
  // process.
  socket.on('error', (error) => {
    reject(new Fault('dial', `cannot reach ${server}: ${error.message}`, { cause: error }))
  })
  return promise
}

/** Shared by all streams of this process, because the memory of the process is what is bounded. */
const streamBuffers = new StreamBuffers(LIMITS.nodeStreamBuffers)

function streamSocketOver(socket: WebSocket): StreamSocket {
  const stream = new StreamSocket(socket, systemClock, {
    buffers: streamBuffers,
    pingMs: LIMITS.nodeStreamPingMs,
    silentMsMax: LIMITS.nodeStreamIdleTimeoutMs,
  })
  // With the default binaryType a message is one Buffer.
  socket.on('message', (data, isBinary) => stream.handleMessage(data as Buffer, !isBinary))
  socket.on('ping', () => stream.noteActivity())
  socket.on('pong', () => stream.noteActivity())
  socket.on('close', (code, reason) => stream.handleClose(code, reason.toString('utf8')))
  return stream
}

/**
 * Measures the time of the machine: connections do not follow the clock that the agent was given.
 */
const systemClock: Clock = {
  nowMs: () => performance.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

class WebSocketChannel implements Channel {
  readonly openStream: NonNullable<Channel['openStream']>
  readonly #socket: WebSocket
  #onMessage: ((text: string) => void) | undefined
  readonly #closeListeners: ((reason: string) => void)[] = []
  #error = ''
  #closeReason: string | undefined
  readonly #undelivered: string[] = []

  constructor(socket: WebSocket, openStream: NonNullable<Channel['openStream']>) {
    this.#socket = socket
    this.openStream = openStream
    socket.on('message', (data, isBinary) => {
      // Only text frames are part of the contract.
      if (isBinary) this.#fail('received a binary frame')
      else this.#deliver(decodeFrame(data))
    })
    socket.on('error', (error) => {
      this.#error ||= error.message
    })
    socket.on('unexpected-response', (_request, answer) => {
      void readRejection(answer).then((refusal) => this.#fail(refusal))
    })
    socket.on('close', (code, reason) => {
      this.#notifyClosed(this.#error || reason.toString('utf8') || `closed with code ${code}`)
    })
  }

  send(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text)
  }

  onMessage(listener: (text: string) => void): void {
    this.#onMessage = listener
    for (const text of this.#undelivered.splice(0)) listener(text)
  }

  onClose(listener: (reason: string) => void): void {
    if (this.#closeReason === undefined) this.#closeListeners.push(listener)
    else listener(this.#closeReason)
  }

  close(): void {
    // Closes without the closing handshake: a peer that does not answer must not keep the socket
    // open.
    this.#socket.terminate()
  }

  #deliver(text: string): void {
    if (this.#onMessage !== undefined) this.#onMessage(text)
    else if (this.#undelivered.length < AGENT_LIMITS.undeliveredMessagesMax)
      this.#undelivered.push(text)
    else this.#fail('too many messages before the greeting')
  }

  #fail(reason: string): void {
    this.#error = reason
    this.#socket.terminate()
  }

  #notifyClosed(reason: string): void {
    if (this.#closeReason !== undefined) return
    this.#closeReason = reason
    for (const listener of this.#closeListeners) listener(reason)
  }
}

/** Returns the status and the beginning of the body of a rejected upgrade. */
async function readRejection(response: IncomingMessage): Promise<string> {
  let body = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      body += String(chunk)
      if (body.length >= AGENT_LIMITS.rejectionBodyCharsMax) break
    }
  } catch {
    // The connection ended early: report the part that arrived.
  }
  const excerpt = body.slice(0, AGENT_LIMITS.rejectionBodyCharsMax).trim()
  return `it answered ${response.statusCode}${excerpt === '' ? '' : `: ${excerpt}`}`
}

function decodeFrame(data: WebSocket.RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8')
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8')
}
