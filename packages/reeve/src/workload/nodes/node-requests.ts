import type { NodeRequest, OpenMessage, ReplyMessage, RequestMessage } from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import {
  NO_PATH_TO_NODE,
  NODE_CONNECTING,
  NODE_SILENT,
  refusalOfNode,
  type NodeGateway,
  type StreamOpeningRequest,
} from './node-gateway.ts'
import type { NodeSession, NodeSessions } from './node-sessions.ts'
import { NodeStreams, type StreamLimits } from './node-streams.ts'
import type { TenantSlots } from '@reeve/kit/tenant-slots.ts'

interface NodeRequestsOptions {
  readonly sessions: NodeSessions
  readonly clock: Clock
  readonly ids: IdSource
  readonly streamLimits?: StreamLimits | undefined
}

/** A pending request to a node. */
interface Pending {
  readonly session: NodeSession
  answer(result: Result<unknown, Refusal>): void
}

/**
 * Pending requests to the nodes that are connected to this server. Every request has a deadline,
 * and all requests to a node fail when it disconnects.
 */
export class NodeRequests implements NodeGateway {
  readonly #options: NodeRequestsOptions
  readonly #pending = new Map<string, Pending>()
  readonly #pendingOf = new Map<NodeSession, number>()
  readonly #streams: NodeStreams

  constructor(options: NodeRequestsOptions) {
    this.#options = options
    this.#streams = new NodeStreams(options)
    options.sessions.onRevoked((nodeId) => this.#streams.terminateOf(nodeId))
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
    deadlineMs: number = LIMITS.nodeRequestMsMax,
  ): Promise<Result<unknown, Refusal>> {
    const { sessions, ids } = this.#options
    const session = sessions.find(nodeId)
    if (session === undefined) return err(this.#notConnected(nodeId))
    if ((this.#pendingOf.get(session) ?? 0) >= LIMITS.nodeRequestsMax)
      return err(
        refusal('too-many-node-calls', `${LIMITS.nodeRequestsMax} requests wait for this node`),
      )
    const id = ids.uuid()
    const answered = this.#wait(id, session, deadlineMs)
    const message: RequestMessage = { kind: 'request', id, request }
    session.send(JSON.stringify(message))
    return await answered
  }

  async open(
    nodeId: string,
    opening: StreamOpeningRequest,
  ): Promise<Result<StreamSocket, Refusal>> {
    const session = this.#options.sessions.find(nodeId)
    if (session === undefined) return err(this.#notConnected(nodeId))
    return await this.#streams.open(session, opening, (message: OpenMessage) =>
      session.send(JSON.stringify(message)),
    )
  }

  /**
   * Handles a node's response. False if there is no such request: the response is late or forged.
   */
  reply(session: NodeSession, { id, ok: value, error }: ReplyMessage): boolean {
    const pending = this.#pending.get(id)
    if (pending?.session === session) {
      pending.answer(error === undefined ? ok(value) : err(refusalOfNode(error)))
      return true
    }
    return error !== undefined && this.#streams.refuse(session, id, refusalOfNode(error))
  }

  /** Returns the receiver of a stream that the node opens, if it was requested with this secret. */
  dialled(id: string, secret: string): ((socket: StreamSocket) => void) | undefined {
    return this.#streams.dialled(id, secret)
  }

  /**
   * Fails the requests of a node whose channel has closed. Open streams have their own connections.
   */
  gone(session: NodeSession): void {
    for (const pending of this.#pending.values())
      if (pending.session === session) pending.answer(err(NO_PATH_TO_NODE))
    this.#streams.gone(session)
  }

  close(): void {
    for (const pending of this.#pending.values()) pending.answer(err(NO_PATH_TO_NODE))
    this.#streams.close()
  }

  #notConnected(nodeId: string): Refusal {
    return this.#options.sessions.isExpected(nodeId) ? NODE_CONNECTING : NO_PATH_TO_NODE
  }

  #wait(id: string, session: NodeSession, deadlineMs: number): Promise<Result<unknown, Refusal>> {
    const { promise, resolve } = Promise.withResolvers<Result<unknown, Refusal>>()
    this.#pendingOf.set(session, (this.#pendingOf.get(session) ?? 0) + 1)
    const answer = (result: Result<unknown, Refusal>): void => {
      if (!this.#pending.delete(id)) return
      cancel()
      const left = (this.#pendingOf.get(session) ?? 1) - 1
      if (left > 0) this.#pendingOf.set(session, left)
      else this.#pendingOf.delete(session)
      resolve(result)
    }
    const cancel = this.#options.clock.after(deadlineMs, () => answer(err(NODE_SILENT)))
    this.#pending.set(id, { session, answer })
    return promise
  }
}
