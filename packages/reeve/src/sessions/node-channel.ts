import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  AgentMessage,
  CHANNEL_MESSAGE_BYTES_MAX,
  CHANNEL_VERSIONS,
  commonVersion,
  describeMismatch,
  NODE_CHANNEL_PATH,
  SERVER_STOPS,
  type AllocationUpdate,
  type HelloMessage,
  type ServerMessage,
  type ServicesMessage,
  type StatusMessage,
} from '@reeve/contract'
import { Compile } from 'typebox/compile'
import type { RawData } from 'ws'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Logger } from '@reeve/kit/log.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import {
  admitNode,
  DEFAULT_NODE_ADMISSION,
  NodeReportBatcher,
  registerNode,
  reportServices,
  resumeRotation,
  updateNode,
  type WorkloadContext,
} from '../workload/index.ts'
import { LIMITS } from '../model/index.ts'
import { CatalogWatches } from './catalog-watches.ts'
import { DataMigrations } from './data-migrations.ts'
import type { NodeRpcClient } from './node-requests.ts'
import type { NodeSession, NodeSessions } from './node-sessions.ts'
import {
  requestPath,
  type SendSocket,
  type UpgradeRejection,
  WebSocketAcceptor,
  type WebSocketChannel,
  WebSocketWriter,
} from './websocket.ts'
import { NewNodeLimit, NodeInbox, NodeLogLimit, NodePenalties } from './node-inbox.ts'

/**
 * Time in which a connected node must answer a ping when a second connection claims its identity.
 */
const PONG_TIMEOUT_MS = 2_000
/** Timeout of the close handshake, after which a connection is terminated. */
const CLOSE_TIMEOUT_MS = 1_000
/** The close code of WebSockets for a server that restarts. */
const SERVICE_RESTART = 1012
/** Bytes that may be queued for a node that does not read, before its connection is closed. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024
const TOO_MANY_UNIDENTIFIED: UpgradeRejection = {
  status: 503,
  message:
    `${LIMITS.unidentifiedNodesMax} connections have not introduced themselves as nodes yet; ` +
    'try again',
}
/** Prefix as agents write it; messages with another spelling are not merged. */
const STATUS_MESSAGE_PREFIX = Buffer.from('{"kind":"status"')
const isAgentMessage = Compile(AgentMessage)

export interface NodeChannelDeps {
  readonly context: WorkloadContext
  readonly sessions: NodeSessions
  /** Pending requests to nodes, which are completed by their responses. */
  readonly requests: NodeRpcClient
  readonly clock: Clock
  readonly log: Logger
  /** Parses JSON text within the limits of a request body; throws otherwise. */
  readonly parseJson: (text: string) => unknown
  readonly heartbeatMs: () => number
  /** Called for every message of a node, as proof that it is alive. */
  readonly onNodeSeen: (nodeId: string) => void
  /** Finds the client address of a request that another server has forwarded. */
  readonly leader?: { clientAddressOf(request: IncomingMessage): string | undefined }
}

/** The connection of one node: a WebSocket, or a simulated one. */
export interface NodeSocket extends SendSocket {
  readonly readyState: number
  readonly OPEN: number
  on(event: 'message', listener: (data: RawData) => void): unknown
  on(event: 'close' | 'pong', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'pong' | 'close', listener: () => void): unknown
  ping(): void
  pause(): void
  resume(): void
  close(code: number): void
  terminate(): void
}

/** A message is not JSON, or exceeds the limits of a body. */
class InvalidMessageError extends Error {}

/** The servers' end of the nodes' WebSockets (contract: channel.ts). */
export class NodeChannelServer implements WebSocketChannel {
  readonly peer = 'node'
  readonly #host: NodeChannelDeps
  readonly #messages = new WebSocketWriter()
  readonly #reports: NodeReportBatcher
  readonly #catalog: CatalogWatches
  readonly #migrations: DataMigrations
  readonly #newNodes: NewNodeLimit
  readonly #penalties = new NodePenalties()
  readonly #logLimit = new NodeLogLimit()
  readonly #sockets: WebSocketAcceptor
  /** Connections that have not sent a hello. */
  readonly #unidentified = new Set<NodeConnection>()

  constructor(host: NodeChannelDeps) {
    this.#host = host
    this.#sockets = new WebSocketAcceptor(host.clock, {
      messageBytesMax: CHANNEL_MESSAGE_BYTES_MAX,
    })
    this.#reports = new NodeReportBatcher(host.context)
    this.#catalog = new CatalogWatches(host.context)
    this.#migrations = new DataMigrations({ context: host.context, gateway: host.requests })
    const { nodeAdmission = DEFAULT_NODE_ADMISSION } = host.context
    this.#newNodes = new NewNodeLimit(host.clock, nodeAdmission)
  }

  /** Reports whether the request is for this channel. */
  serves(request: IncomingMessage): boolean {
    return requestPath(request) === NODE_CHANNEL_PATH
  }

  handleUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): UpgradeRejection | undefined {
    if (this.#unidentified.size >= LIMITS.unidentifiedNodesMax) return TOO_MANY_UNIDENTIFIED
    this.#sockets.accept(request, socket, head, (webSocket) => {
      const address =
        this.#host.leader?.clientAddressOf(request) ?? request.socket.remoteAddress ?? ''
      this.connect(webSocket, address)
    })
    return undefined
  }

  /** Serves a connection that was accepted, by this server or by a simulated network. */
  connect(socket: NodeSocket, address: string): void {
    const shared = {
      messages: this.#messages,
      reports: this.#reports,
      catalog: this.#catalog,
      migrations: this.#migrations,
      unidentified: this.#unidentified,
      newNodes: this.#newNodes,
      penalties: this.#penalties,
      logLimit: this.#logLimit,
    }
    new NodeConnection(this.#host, shared, { socket, address }).start()
  }

  close(): void {
    this.#catalog.close()
    const sockets = [...this.#sockets.clients]
    for (const socket of sockets) socket.close(SERVICE_RESTART, SERVER_STOPS)
    this.#sockets.close()
    // The timer does not keep the process alive; open connections do.
    setTimeout(() => {
      for (const socket of sockets) socket.terminate()
    }, CLOSE_TIMEOUT_MS).unref()
  }
}

/** State shared by all connections of a server. */
interface SharedState {
  readonly messages: WebSocketWriter
  readonly reports: NodeReportBatcher
  readonly catalog: CatalogWatches
  readonly migrations: DataMigrations
  /** Connections that have not sent a hello. */
  readonly unidentified: Set<NodeConnection>
  readonly newNodes: NewNodeLimit
  readonly penalties: NodePenalties
  readonly logLimit: NodeLogLimit
}

interface Peer {
  readonly socket: NodeSocket
  readonly address: string
}

/** One node's connection, from hello to close. Messages are handled one after the other. */
class NodeConnection implements NodeSession {
  readonly #host: NodeChannelDeps
  readonly #shared: SharedState
  readonly #socket: NodeSocket
  readonly #address: string
  readonly #inbox: NodeInbox
  #nodeId = ''
  #isClosing = false
  #cancelHello: () => void
  #cancelTermination: () => void = () => undefined

  constructor(host: NodeChannelDeps, shared: SharedState, { socket, address }: Peer) {
    this.#host = host
    this.#shared = shared
    this.#socket = socket
    this.#address = address
    this.#cancelHello = host.clock.after(LIMITS.nodeHelloTimeoutMs, () =>
      this.#reject(`no hello within ${LIMITS.nodeHelloTimeoutMs / 1_000} s`),
    )
    this.#inbox = new NodeInbox({
      clock: host.clock,
      socket,
      handle: (bytes) => this.#receive(bytes),
      onOverload: () => this.#onOverload(),
      onError: (thrown) => this.#fail(thrown),
    })
  }

  get nodeId(): string {
    return this.#nodeId
  }

  start(): void {
    this.#shared.unidentified.add(this)
    // Text frames arrive as one Buffer with the default binaryType.
    this.#socket.on('message', (data) => this.#inbox.put(data as Buffer))
    this.#socket.on('close', () => {
      this.#cancelTermination()
      this.#release()
    })
    // 'close' follows; an 'error' event without a listener would end the process.
    this.#socket.on('error', (error) => this.#host.log.debug({ err: error }, 'node channel failed'))
  }

  send(text: StringChunks): void {
    if (this.#isClosing) return
    // A node that does not read is disconnected: it receives the full desired state when it
    // reconnects.
    if (this.#socket.bufferedAmount > UNREAD_BYTES_MAX) return this.#socket.terminate()
    this.#shared.messages.send(this.#socket, text)
  }

  close(reason?: string): void {
    if (reason !== undefined) return this.#reject(reason)
    this.#closeWith(1001)
  }

  /**
   * Ends the connection: from here on nothing is sent to the node and its messages are ignored,
   * also while the close handshake takes its time.
   */
  #closeWith(code: number): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#release()
    this.#socket.close(code)
    this.#cancelTermination = this.#host.clock.after(CLOSE_TIMEOUT_MS, () =>
      this.#socket.terminate(),
    )
  }

  #release(): void {
    this.#cancelHello()
    this.#shared.unidentified.delete(this)
    this.#inbox.close()
    this.#host.sessions.detach(this)
    this.#host.requests.onSessionClosed(this)
    this.#shared.catalog.onSessionClosed(this)
    this.#shared.migrations.onSessionClosed(this)
  }

  ping(): Promise<boolean> {
    const socket = this.#socket
    if (this.#isClosing || socket.readyState !== socket.OPEN) return Promise.resolve(false)
    return new Promise((resolve) => {
      const end = (isAlive: boolean): void => {
        cancel()
        socket.off('pong', onPong)
        socket.off('close', onClose)
        resolve(isAlive)
      }
      const onPong = (): void => end(true)
      const onClose = (): void => end(false)
      const cancel = this.#host.clock.after(PONG_TIMEOUT_MS, onClose)
      socket.on('pong', onPong)
      socket.on('close', onClose)
      socket.ping()
    })
  }

  /** Parses a message; undefined if this version does not know it. */
  #parse(bytes: Buffer): AgentMessage | undefined {
    let message: unknown
    try {
      message = this.#host.parseJson(bytes.toString('utf8'))
    } catch (thrown) {
      throw new InvalidMessageError(errorMessage(thrown), { cause: thrown })
    }
    return isAgentMessage.Check(message) ? message : undefined
  }

  async #receive(bytes: Buffer): Promise<void> {
    // The node repeats the report on its next channel.
    if (this.#isClosing) return
    if (this.#nodeId === '' && bytes.length > LIMITS.nodeHelloBytesMax)
      return this.#reject(`the first message has more than ${LIMITS.nodeHelloBytesMax} bytes`)
    const message = this.#parse(bytes)
    if (message === undefined) {
      if (this.#nodeId === '') this.#reject('the first message must be a hello of this version')
      return // ignore unknown messages: they may come from a later version
    }
    if (message.kind === 'hello')
      // A connection belongs to one node for all of its life.
      return this.#nodeId === ''
        ? this.#handleHello(message)
        : this.#reject('a second hello on the same connection')
    if (this.#nodeId === '') return this.#reject('the first message must be a hello')
    this.#host.onNodeSeen(this.#nodeId)
    if (message.kind === 'heartbeat')
      this.#sendMessage({ kind: 'heartbeat', heartbeatMs: this.#host.heartbeatMs() })
    else if (message.kind === 'reply') {
      if (this.#host.requests.handleReply(this, message)) this.#inbox.refund(bytes)
    } else if (message.kind === 'status') await this.#handleStatus(message)
    else if (message.kind === 'services') await this.#handleServices(message)
    else if (message.kind === 'watch') this.#shared.catalog.watch(this, message.id, message.what)
    else if (message.kind === 'unwatch') this.#shared.catalog.unwatch(this, message.id)
    else if (message.kind === 'migrate') this.#shared.migrations.request(this, message.allocation)
    else if (message.node.ID === this.#nodeId) {
      const updated = await updateNode(this.#host.context, message.node)
      if (!updated.ok) this.#reject(updated.error.message)
    }
  }

  async #handleHello(hello: HelloMessage): Promise<void> {
    const { context, sessions, clock, heartbeatMs } = this.#host
    const offered = { oldest: hello.oldestVersion ?? hello.version, newest: hello.version }
    const version = commonVersion(CHANNEL_VERSIONS, offered)
    if (version === undefined) return this.#reject(describeMismatch(CHANNEL_VERSIONS, offered))
    // Only a caller that knows the secret of a node learns anything about it.
    const admitted = admitNode(context, hello)
    if (!admitted.ok) return this.#reject(admitted.error.message)
    const waitMs = this.#shared.penalties.remainingMs(hello.node.ID, clock.monotonicMs())
    if (waitMs > 0) return this.#reject(`${OVERLOADED}; it is refused for ${waitMs} ms`)
    if ((await sessions.find(hello.node.ID)?.ping?.()) === true)
      return this.#rejectDuplicateAgent(hello)
    const rejection =
      admitted.value.existing === undefined ? this.#shared.newNodes.admit(this.#address) : undefined
    if (rejection !== undefined) return this.#reject(rejection)
    const registered = await registerNode(context, hello)
    if (!registered.ok) return this.#reject(registered.error.message)
    if (this.#isClosing) return
    this.#cancelHello()
    this.#shared.unidentified.delete(this)
    this.#nodeId = hello.node.ID
    this.#host.onNodeSeen(this.#nodeId)
    this.#sendMessage({
      kind: 'welcome',
      version,
      heartbeatMs: heartbeatMs(),
      serverTimeMs: clock.nowMs(),
      region: context.region,
    })
    sessions.attach(this)
    void resumeRotation(context, this.#host.requests, this.#nodeId).catch((thrown: unknown) =>
      this.#fail(thrown),
    )
  }

  /**
   * Refuses a second agent with the identity of a connected node: both would start its allocations.
   */
  #rejectDuplicateAgent({ node: { ID: nodeId, Name: name } }: HelloMessage): void {
    const text = 'rejected a second agent with the identity of a connected node'
    this.#warn({ nodeId, name }, text, nodeId)
    this.#reject(
      `another agent is connected as node ${nodeId}. If this data directory is a copy of that ` +
        "agent's, stop this agent and give it an empty one: it becomes a node of its own",
    )
  }

  /**
   * Handles a status report. A node has one report in flight; if it sends more without waiting,
   * those that have arrived are merged, with the latest update of each allocation.
   */
  async #handleStatus(first: StatusMessage): Promise<void> {
    const seqs = [first.seq]
    let { updates } = first
    for (let next = this.#nextStatus(); next !== undefined; next = this.#nextStatus()) {
      seqs.push(next.seq)
      updates = mergeUpdates(updates, next.updates)
    }
    await this.#shared.reports.report(this.#nodeId, updates)
    for (const seq of seqs) this.#sendMessage({ kind: 'ack', seq })
  }

  #nextStatus(): StatusMessage | undefined {
    const bytes = this.#inbox.takeIf(STATUS_MESSAGE_PREFIX)
    const message = bytes === undefined ? undefined : this.#parse(bytes)
    return message?.kind === 'status' ? message : undefined
  }

  async #handleServices({ seq, sets, all }: ServicesMessage): Promise<void> {
    await reportServices(this.#host.context, { nodeId: this.#nodeId, sets, all })
    this.#sendMessage({ kind: 'services-ack', seq })
  }

  #sendMessage(message: ServerMessage): void {
    this.send(JSON.stringify(message))
  }

  #reject(message: string): void {
    this.#sendMessage({ kind: 'refuse', message })
    this.#closeWith(1008)
  }

  #onOverload(): void {
    const nodeId = this.#nodeId
    this.#warn({ nodeId, address: this.#address }, OVERLOADED, nodeId || this.#address)
    if (nodeId !== '') this.#shared.penalties.add(nodeId, this.#host.clock.monotonicMs())
    this.#reject(OVERLOADED)
  }

  /**
   * Closes the connection after invalid JSON or a failure of the storage. The agent reconnects and
   * sends everything again.
   */
  #fail(thrown: unknown): void {
    // Later messages of the same connection are not logged.
    if (this.#isClosing) return
    this.#closeWith(1011)
    const { log } = this.#host
    const fields = { nodeId: this.#nodeId, err: errorMessage(thrown) }
    if (!(thrown instanceof InvalidMessageError)) {
      const suppressed = this.#logSlot(fields.err)
      if (suppressed !== undefined) log.error({ ...fields, suppressed }, 'node channel failed')
    } else if (this.#nodeId === '')
      log.debug(fields, 'an unidentified peer sent an invalid message')
    else this.#warn(fields, 'a node sent an invalid message', this.#nodeId)
  }

  /** Logs a warning, at most once a minute for each peer and text. */
  #warn(fields: object, text: string, peer: string): void {
    const suppressed = this.#logSlot(`${peer} ${text}`)
    if (suppressed !== undefined) this.#host.log.warn({ ...fields, suppressed }, text)
  }

  #logSlot(cause: string): number | undefined {
    return this.#shared.logLimit.take(cause, this.#host.clock.monotonicMs())
  }
}

const OVERLOADED =
  `this node sent more than ${LIMITS.nodeMessagesPerSecond} messages or ` +
  `${LIMITS.nodeBytesPerSecond} bytes a second for ${LIMITS.nodeOverloadMsMax / 1_000} s`

/** Merges the updates of two reports by allocation. Absent fields are unchanged. */
function mergeUpdates(
  earlier: readonly AllocationUpdate[],
  later: readonly AllocationUpdate[],
): readonly AllocationUpdate[] {
  const merged = new Map(earlier.map((update) => [update.ID, update]))
  for (const update of later) merged.set(update.ID, { ...merged.get(update.ID), ...update })
  return [...merged.values()]
}
