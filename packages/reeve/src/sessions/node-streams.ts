import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  NODE_STREAM_PATH,
  STREAM_MESSAGE_BYTES_MAX,
  type OpenMessage,
  type RemoteError,
} from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import { TokenBucket } from '@reeve/kit/token-bucket.ts'
import { LIMITS, refusal, type Refusal } from '../model/index.ts'
import {
  NO_PATH_TO_NODE,
  NODE_TIMEOUT,
  refusalFromNode,
  type OpenStreamRequest,
} from '../workload/index.ts'
import type { NodeSession } from './node-sessions.ts'
import {
  requestPath,
  streamSocket,
  type UpgradeRejection,
  WebSocketAcceptor,
  type WebSocketChannel,
} from './websocket.ts'

interface NodeStreamsOptions {
  readonly clock: Clock
  readonly ids: IdSource
  /** Maximum number of open streams per token; unlimited unless given. */
  readonly streamLimits?: StreamLimits | undefined
}

export interface StreamLimits {
  readonly execSessionsPerToken: number
  readonly logStreamsPerToken: number
}

/** A stream that was requested and is not open yet. */
interface PendingStream {
  readonly session: NodeSession
  readonly secret: string
  /** True once the node has connected: the secret is used up. */
  isConnected: boolean
  settle(result: Result<StreamSocket, Refusal>): void
}

/** Streams to nodes, from the request to their end. Counted by node and by caller. */
export class NodeStreams {
  readonly #options: NodeStreamsOptions
  readonly #pendingStreams = new Map<string, PendingStream>()
  /** Open stream connections, each with its node. */
  readonly #sockets = new Map<StreamSocket, string>()
  readonly #nodeSlots = new TenantSlots('node streams', LIMITS.nodeStreamsMax)
  /** Exec sessions by accessor. */
  readonly execSessions: TenantSlots
  /** Log and file streams by accessor. */
  readonly logStreams: TenantSlots
  readonly #rates: StreamRateLimiter

  constructor(options: NodeStreamsOptions) {
    const { streamLimits } = options
    this.#options = options
    this.#rates = new StreamRateLimiter(options.clock)
    this.execSessions = new TenantSlots(
      'exec_sessions_per_token',
      streamLimits?.execSessionsPerToken,
    )
    this.logStreams = new TenantSlots('log_streams_per_token', streamLimits?.logStreamsPerToken)
  }

  get size(): number {
    return this.#nodeSlots.held
  }

  async open(
    session: NodeSession,
    { request, accessorId }: OpenStreamRequest,
    sendRequest: (message: OpenMessage) => void,
  ): Promise<Result<StreamSocket, Refusal>> {
    const tokenSlots = request.verb === 'exec' ? this.execSessions : this.logStreams
    if (accessorId !== '' && tokenSlots.isFull(accessorId)) return err(tooManyStreams(tokenSlots))
    if (this.#nodeSlots.isFull(session.nodeId)) return err(TOO_MANY_NODE_STREAMS)
    const { ids } = this.#options
    const message: OpenMessage = { kind: 'open', stream: ids.uuid(), secret: ids.uuid(), request }
    this.#nodeSlots.acquire(session.nodeId)
    if (accessorId !== '') tokenSlots.acquire(accessorId)
    const release = (): void => {
      this.#nodeSlots.release(session.nodeId)
      if (accessorId !== '') tokenSlots.release(accessorId)
    }
    const opened = this.#trackPending(message, session)
    sendRequest(message)
    const result = await opened
    if (!result.ok) release()
    else {
      result.value.onClose(release)
      if (accessorId !== '')
        result.value.throttle((bytes) => this.#rates.consume(accessorId, bytes))
    }
    return result
  }

  /** Handles a node's report that it cannot connect. False if no stream was requested. */
  refuse(session: NodeSession, id: string, reason: Refusal): boolean {
    const pending = this.#pendingStreams.get(id)
    if (pending?.session !== session) return false
    pending.settle(err(reason))
    return true
  }

  /**
   * Returns the receiver of a node's connection; undefined if no such stream was requested, or it
   * is connected already.
   */
  acceptStream(id: string, secret: string): ((socket: StreamSocket) => void) | undefined {
    const pending = this.#pendingStreams.get(id)
    if (pending === undefined || pending.isConnected || !isSameSecret(pending.secret, secret))
      return undefined
    pending.isConnected = true
    return (socket) => this.#readFirstMessage(pending, socket)
  }

  onSessionClosed(session: NodeSession): void {
    for (const pending of this.#pendingStreams.values())
      if (pending.session === session && !pending.isConnected) pending.settle(err(NO_PATH_TO_NODE))
  }

  close(): void {
    for (const pending of this.#pendingStreams.values()) pending.settle(err(NO_PATH_TO_NODE))
    for (const socket of this.#sockets.keys()) socket.terminate()
  }

  /** Terminates the streams of a revoked node, including those not open yet. */
  terminateStreamsOf(nodeId: string): void {
    for (const pending of this.#pendingStreams.values())
      if (pending.session.nodeId === nodeId) pending.settle(err(NO_PATH_TO_NODE))
    for (const [socket, owner] of this.#sockets) if (owner === nodeId) socket.terminate()
  }

  /** Reads the first message, which reports whether the stream was opened. */
  #readFirstMessage(pending: PendingStream, socket: StreamSocket): void {
    this.#sockets.set(socket, pending.session.nodeId)
    socket.onClose(() => {
      this.#sockets.delete(socket)
      pending.settle(err(NO_PATH_TO_NODE))
    })
    socket.onMessage((data, isText) => {
      // Later messages are buffered until there is a listener.
      socket.detach()
      const answer = isText ? parseStreamOpening(data) : undefined
      if (answer === true) return pending.settle(ok(socket))
      const problem = answer ?? { status: 500, message: 'the node broke the protocol' }
      pending.settle(err(refusalFromNode(problem)))
      socket.close()
    })
  }

  #trackPending(
    { stream, secret }: OpenMessage,
    session: NodeSession,
  ): Promise<Result<StreamSocket, Refusal>> {
    const { promise, resolve } = Promise.withResolvers<Result<StreamSocket, Refusal>>()
    const settle = (result: Result<StreamSocket, Refusal>): void => {
      if (!this.#pendingStreams.delete(stream)) {
        // The request has already timed out or failed.
        if (result.ok) result.value.terminate()
        return
      }
      cancel()
      resolve(result)
    }
    const ms = LIMITS.nodeStreamOpenTimeoutMs
    const cancel = this.#options.clock.after(ms, () => settle(err(NODE_TIMEOUT)))
    this.#pendingStreams.set(stream, { session, secret, isConnected: false, settle })
    return promise
  }
}

/** Short, because it is also the reason of a WebSocket close, which is limited to 123 bytes. */
export function tooManyStreams({ name, perTenantMax }: TenantSlots): Refusal {
  const what = name === 'exec_sessions_per_token' ? 'exec sessions' : 'log and file streams'
  return refusal(
    'too-many-streams',
    `${perTenantMax} ${what} of this token are open (limits.${name}); close one first`,
  )
}

const TOO_MANY_NODE_STREAMS: Refusal = refusal(
  'too-many-node-calls',
  `${LIMITS.nodeStreamsMax} exec, log and file streams to this node are open; retry later`,
)

function isSameSecret(secret: string, presented: string): boolean {
  const [a, b] = [Buffer.from(secret), Buffer.from(presented)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Parses the contract's StreamOpening: true, or an error; undefined if it is invalid. */
function parseStreamOpening(data: Uint8Array): true | RemoteError | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(data).toString('utf8'))
    if (typeof value !== 'object' || value === null) return undefined
    if ('opened' in value && value.opened === true) return true
    const error = 'error' in value ? value.error : undefined
    if (typeof error !== 'object' || error === null) return undefined
    if (!('status' in error) || !('message' in error)) return undefined
    const { status, message } = error
    if (typeof status !== 'number' || typeof message !== 'string') return undefined
    return { status, message }
  } catch {
    // Not JSON, so not an opening.
    return undefined
  }
}

/**
 * Limits the bytes that node streams transfer per caller. Without a limit, streams that are not
 * read fill the kernel buffers of their connections, several megabytes each, and 100 of them block
 * server and node for seconds.
 */
export class StreamRateLimiter {
  readonly #clock: Clock
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Records transferred bytes of a caller. @returns how long to pause its streams */
  consume(accessorId: string, bytes: number): number {
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#buckets.get(accessorId) ?? this.#createBucket(accessorId, nowMs)
    bucket.take(bytes, nowMs)
    return bucket.waitMs(nowMs)
  }

  /** Number of callers with recently read streams. */
  get size(): number {
    return this.#buckets.size
  }

  /** Returns the bucket of a caller; full buckets are dropped. */
  #createBucket(accessorId: string, nowMs: number): TokenBucket {
    for (const [id, bucket] of this.#buckets) if (bucket.isFull(nowMs)) this.#buckets.delete(id)
    const { nodeStreamBytesPerSecond, nodeStreamBytesBurst } = LIMITS
    const bucket = new TokenBucket(nodeStreamBytesPerSecond, nodeStreamBytesBurst, nowMs)
    this.#buckets.set(accessorId, bucket)
    return bucket
  }
}

const STREAM_PATH_PREFIX = `${NODE_STREAM_PATH}/`

interface NodeStreamServerOptions {
  readonly requests: {
    acceptStream(id: string, secret: string): ((socket: StreamSocket) => void) | undefined
  }
  readonly clock: Clock
  readonly streamBuffers: StreamBuffers
  /** Reads the secret of a stream from the headers of its request. */
  readonly bearerToken: (request: IncomingMessage) => string | undefined
}

/** Accepts the streams that nodes open on request of the server (contract: remote.ts). */
export class NodeStreamServer implements WebSocketChannel {
  readonly peer = 'node'
  readonly #options: NodeStreamServerOptions
  readonly #sockets: WebSocketAcceptor

  constructor(options: NodeStreamServerOptions) {
    this.#options = options
    this.#sockets = new WebSocketAcceptor(options.clock, {
      messageBytesMax: STREAM_MESSAGE_BYTES_MAX,
      oneMessagePerTick: true,
    })
  }

  serves(request: IncomingMessage): boolean {
    return requestPath(request).startsWith(STREAM_PATH_PREFIX)
  }

  handleUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): UpgradeRejection | undefined {
    const { requests, clock, streamBuffers, bearerToken } = this.#options
    const id = requestPath(request).slice(STREAM_PATH_PREFIX.length)
    const accept = requests.acceptStream(id, bearerToken(request) ?? '')
    if (accept === undefined)
      return { status: 403, message: 'no request is waiting for this stream' }
    this.#sockets.accept(request, socket, head, (webSocket) => {
      accept(streamSocket(webSocket, clock, streamBuffers))
    })
    return undefined
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#sockets.close()
  }
}
