import { timingSafeEqual } from 'node:crypto'
import type { OpenMessage, RemoteError } from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import {
  NO_PATH_TO_NODE,
  NODE_SILENT,
  refusalOfNode,
  type StreamOpeningRequest,
} from './node-gateway.ts'
import type { NodeSession } from './node-sessions.ts'
import { StreamRates } from './stream-rates.ts'

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
interface Opening {
  readonly session: NodeSession
  readonly secret: string
  /** True once the node has connected: the secret is used up. */
  isDialled: boolean
  settle(result: Result<StreamSocket, Refusal>): void
}

/** Streams to nodes, from the request to their end. Counted by node and by caller. */
export class NodeStreams {
  readonly #options: NodeStreamsOptions
  readonly #openings = new Map<string, Opening>()
  /** Open stream connections, each with its node. */
  readonly #sockets = new Map<StreamSocket, string>()
  readonly #ofNode = new TenantSlots('node streams', LIMITS.nodeStreamsMax)
  /** Exec sessions by accessor. */
  readonly execSessions: TenantSlots
  /** Log and file streams by accessor. */
  readonly logStreams: TenantSlots
  readonly #rates: StreamRates

  constructor(options: NodeStreamsOptions) {
    const { streamLimits } = options
    this.#options = options
    this.#rates = new StreamRates(options.clock)
    this.execSessions = new TenantSlots(
      'exec_sessions_per_token',
      streamLimits?.execSessionsPerToken,
    )
    this.logStreams = new TenantSlots('log_streams_per_token', streamLimits?.logStreamsPerToken)
  }

  get size(): number {
    return this.#ofNode.held
  }

  async open(
    session: NodeSession,
    { request, accessorId }: StreamOpeningRequest,
    ask: (message: OpenMessage) => void,
  ): Promise<Result<StreamSocket, Refusal>> {
    const ofToken = request.verb === 'exec' ? this.execSessions : this.logStreams
    if (accessorId !== '' && ofToken.isFull(accessorId)) return err(tooManyStreams(ofToken))
    if (this.#ofNode.isFull(session.nodeId)) return err(NODE_FULL)
    const { ids } = this.#options
    const message: OpenMessage = { kind: 'open', stream: ids.uuid(), secret: ids.uuid(), request }
    this.#ofNode.acquire(session.nodeId)
    if (accessorId !== '') ofToken.acquire(accessorId)
    const release = (): void => {
      this.#ofNode.release(session.nodeId)
      if (accessorId !== '') ofToken.release(accessorId)
    }
    const opened = this.#wait(message, session)
    ask(message)
    const result = await opened
    if (!result.ok) release()
    else {
      result.value.onClose(release)
      if (accessorId !== '') result.value.throttle((bytes) => this.#rates.spend(accessorId, bytes))
    }
    return result
  }

  /** Handles a node's report that it cannot connect. False if no stream was requested. */
  refuse(session: NodeSession, id: string, reason: Refusal): boolean {
    const opening = this.#openings.get(id)
    if (opening?.session !== session) return false
    opening.settle(err(reason))
    return true
  }

  /**
   * Returns the receiver of a node's connection; undefined if no such stream was requested, or it
   * is connected already.
   */
  dialled(id: string, secret: string): ((socket: StreamSocket) => void) | undefined {
    const opening = this.#openings.get(id)
    if (opening === undefined || opening.isDialled || !isSame(opening.secret, secret))
      return undefined
    opening.isDialled = true
    return (socket) => this.#begin(opening, socket)
  }

  gone(session: NodeSession): void {
    for (const opening of this.#openings.values())
      if (opening.session === session && !opening.isDialled) opening.settle(err(NO_PATH_TO_NODE))
  }

  close(): void {
    for (const opening of this.#openings.values()) opening.settle(err(NO_PATH_TO_NODE))
    for (const socket of this.#sockets.keys()) socket.terminate()
  }

  /** Terminates the streams of a revoked node, including those not open yet. */
  terminateOf(nodeId: string): void {
    for (const opening of this.#openings.values())
      if (opening.session.nodeId === nodeId) opening.settle(err(NO_PATH_TO_NODE))
    for (const [socket, owner] of this.#sockets) if (owner === nodeId) socket.terminate()
  }

  /** Reads the first message, which reports whether the stream was opened. */
  #begin(opening: Opening, socket: StreamSocket): void {
    this.#sockets.set(socket, opening.session.nodeId)
    socket.onClose(() => {
      this.#sockets.delete(socket)
      opening.settle(err(NO_PATH_TO_NODE))
    })
    socket.onMessage((data, isText) => {
      // Later messages are buffered until there is a listener.
      socket.detach()
      const answer = isText ? readOpening(data) : undefined
      if (answer === true) return opening.settle(ok(socket))
      const problem = answer ?? { status: 500, message: 'the node broke the protocol' }
      opening.settle(err(refusalOfNode(problem)))
      socket.close()
    })
  }

  #wait(
    { stream, secret }: OpenMessage,
    session: NodeSession,
  ): Promise<Result<StreamSocket, Refusal>> {
    const { promise, resolve } = Promise.withResolvers<Result<StreamSocket, Refusal>>()
    const settle = (result: Result<StreamSocket, Refusal>): void => {
      if (!this.#openings.delete(stream)) {
        // The request has already timed out or failed.
        if (result.ok) result.value.terminate()
        return
      }
      cancel()
      resolve(result)
    }
    const ms = LIMITS.nodeStreamOpenMsMax
    const cancel = this.#options.clock.after(ms, () => settle(err(NODE_SILENT)))
    this.#openings.set(stream, { session, secret, isDialled: false, settle })
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

const NODE_FULL: Refusal = refusal(
  'too-many-node-calls',
  `${LIMITS.nodeStreamsMax} exec, log and file streams to this node are open; retry later`,
)

function isSame(secret: string, given: string): boolean {
  const [a, b] = [Buffer.from(secret), Buffer.from(given)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Parses the contract's StreamOpening: true, or an error; undefined if it is invalid. */
function readOpening(data: Uint8Array): true | RemoteError | undefined {
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
