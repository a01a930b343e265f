import type { NodeRequest, OpenMessage, ReplyMessage, RequestMessage } from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS, refusal, type Refusal } from '../model/index.ts'
import {
  NO_PATH_TO_NODE,
  NODE_CONNECTING,
  NODE_TIMEOUT,
  refusalFromNode,
  type NodeGateway,
  type OpenStreamRequest,
} from '../workload/index.ts'
import type { NodeSession, NodeSessions } from './node-sessions.ts'
import { NodeStreams, type StreamLimits } from './node-streams.ts'
import type { TenantSlots } from '@reeve/kit/tenant-slots.ts'

interface NodeRpcClientOptions {
  readonly sessions: NodeSessions
  readonly clock: Clock
  readonly ids: IdSource
  readonly streamLimits?: StreamLimits | undefined
}

/** A pending request to a node. */
interface PendingRequest {
  readonly session: NodeSession
  settle(result: Result<unknown, Refusal>): void
}

/**
 * Pending requests to the nodes that are connected to this server. Every request has a deadline,
 * and all requests to a node fail when it disconnects.
 */
export class NodeRpcClient implements NodeGateway {
  readonly #options: NodeRpcClientOptions
  readonly #pending = new Map<string, PendingRequest>()
  readonly #pendingCounts = new Map<NodeSession, number>()
  readonly #streams: NodeStreams

  constructor(options: NodeRpcClientOptions) {
    this.#options = options
    this.#streams = new NodeStreams(options)
    options.sessions.onRevoked((nodeId) => this.#streams.terminateStreamsOf(nodeId))
  }

  /** Number of streams that are open or being opened. */
  get openStreams(): number {
    return this.#streams.size
  }

  /** Exec sessions, and log and file streams, by accessor. */
  get streamSlots(): { readonly exec: TenantSlots; readonly logs: TenantSlots } {
    return { exec: this.#streams.execSessions, logs: this.#streams.logStreams }
  }

  async request(
    nodeId: string,
    request: NodeRequest,
    deadlineMs: number = LIMITS.nodeRequestTimeoutMs,
  ): Promise<Result<unknown, Refusal>> {
    const { sessions, ids } = this.#options
    const session = sessions.find(nodeId)
    if (session === undefined) return err(this.#notConnectedRefusal(nodeId))
    if ((this.#pendingCounts.get(session) ?? 0) >= LIMITS.nodeRequestsMax)
      return err(
        refusal('too-many-node-calls', `${LIMITS.nodeRequestsMax} requests wait for this node`),
      )
    const id = ids.uuid()
    const response = this.#trackRequest(id, session, deadlineMs)
    const message: RequestMessage = { kind: 'request', id, request }
    session.send(JSON.stringify(message))
    return await response
  }

  async open(nodeId: string, opening: OpenStreamRequest): Promise<Result<StreamSocket, Refusal>> {
    const session = this.#options.sessions.find(nodeId)
    if (session === undefined) return err(this.#notConnectedRefusal(nodeId))
    return await this.#streams.open(session, opening, (message: OpenMessage) =>
      session.send(JSON.stringify(message)),
    )
  }

  /**
   * Handles a node's response. False if there is no such request: the response is late or forged.
   */
  handleReply(session: NodeSession, { id, ok: value, error }: ReplyMessage): boolean {
    const pending = this.#pending.get(id)
    if (pending?.session === session) {
      pending.settle(error === undefined ? ok(value) : err(refusalFromNode(error)))
      return true
    }
    return error !== undefined && this.#streams.refuse(session, id, refusalFromNode(error))
  }

  /** Returns the receiver of a stream that the node opens, if it was requested with this secret. */
  acceptStream(id: string, secret: string): ((socket: StreamSocket) => void) | undefined {
    return this.#streams.acceptStream(id, secret)
  }

  /**
   * Fails the requests of a node whose channel has closed. Open streams have their own connections.
   */
  onSessionClosed(session: NodeSession): void {
    for (const pending of this.#pending.values())
      if (pending.session === session) pending.settle(err(NO_PATH_TO_NODE))
    this.#streams.onSessionClosed(session)
  }

  close(): void {
    for (const pending of this.#pending.values()) pending.settle(err(NO_PATH_TO_NODE))
    this.#streams.close()
  }

  #notConnectedRefusal(nodeId: string): Refusal {
    return this.#options.sessions.isExpected(nodeId) ? NODE_CONNECTING : NO_PATH_TO_NODE
  }

  #trackRequest(
    id: string,
    session: NodeSession,
    deadlineMs: number,
  ): Promise<Result<unknown, Refusal>> {
    const { promise, resolve } = Promise.withResolvers<Result<unknown, Refusal>>()
    this.#pendingCounts.set(session, (this.#pendingCounts.get(session) ?? 0) + 1)
    const settle = (result: Result<unknown, Refusal>): void => {
      if (!this.#pending.delete(id)) return
      cancel()
      const left = (this.#pendingCounts.get(session) ?? 1) - 1
      if (left > 0) this.#pendingCounts.set(session, left)
      else this.#pendingCounts.delete(session)
      resolve(result)
    }
    const cancel = this.#options.clock.after(deadlineMs, () => settle(err(NODE_TIMEOUT)))
    this.#pending.set(id, { session, settle })
    return promise
  }
}
