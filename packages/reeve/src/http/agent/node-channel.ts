import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  AgentMessage,
  CHANNEL_MESSAGE_BYTES_MAX,
  CHANNEL_VERSION,
  NODE_CHANNEL_PATH,
  type HelloMessage,
  type ServerMessage,
  type ServicesMessage,
  type StatusMessage,
} from '@reeve/contract'
import { Compile } from 'typebox/compile'
import type { RawData, WebSocket } from 'ws'
import type { Clock } from '../../kit/clock.ts'
import { messageOf } from '../../kit/fault.ts'
import type { PartedText } from '../../kit/parted-text.ts'
import {
  CatalogHub,
  DataMigrations,
  NodeReports,
  helloRefusal,
  registerNode,
  reportServices,
  updateNode,
  type NodeRequests,
  type NodeSession,
  type NodeSessions,
  type WorkloadContext,
} from '../../workload/index.ts'
import { JsonLimitError, parseFirstJson } from '../json-text.ts'
import type { HttpLog } from '../server.ts'
import { MessageSender } from './message-sender.ts'
import { refuseUpgrade } from './upgrade.ts'
import { WebSocketAcceptor } from './web-socket.ts'

/** A peer that has connected and says nothing is cut off. */
const HELLO_MS_MAX = 10_000
/**
 * A stranger's first message. A node that says all it may of itself takes a good part of it;
 * whoever has no secret yet must not keep the server parsing.
 */
const HELLO_BYTES_MAX = 1024 * 1024
/** How long a connected node has to show that it is there, when another one comes in its name. */
const ANSWER_MS_MAX = 2_000
/** Time in which a peer that was refused may close its side. */
const CLOSE_MS_MAX = 1_000
/** Bytes that a node may leave unread before its connection is closed. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024
/** Connections that have not said hello: more than nodes that connect in one second. */
const STRANGERS_MAX = 4_096
const isAgentMessage = Compile(AgentMessage)

export interface NodeChannelHost {
  readonly context: WorkloadContext
  readonly sessions: NodeSessions
  /** What is asked of the nodes, and waits for their word. */
  readonly requests: NodeRequests
  readonly clock: Clock
  readonly log: HttpLog
  readonly heartbeatMs: () => number
  /** The node said something: it is there. */
  readonly seen: (nodeId: string) => void
}

/** The servers' end of the nodes' WebSockets (contract: channel.ts). */
export class NodeChannelServer {
  readonly #host: NodeChannelHost
  readonly #messages = new MessageSender()
  readonly #reports: NodeReports
  readonly #catalog: CatalogHub
  readonly #migrations: DataMigrations
  readonly #sockets: WebSocketAcceptor
  /** Connections that have not introduced themselves. */
  readonly #strangers = new Set<NodeConnection>()

  constructor(host: NodeChannelHost) {
    this.#host = host
    this.#sockets = new WebSocketAcceptor(host.clock, {
      messageBytesMax: CHANNEL_MESSAGE_BYTES_MAX,
    })
    this.#reports = new NodeReports(host.context)
    this.#catalog = new CatalogHub(host.context)
    this.#migrations = new DataMigrations({ context: host.context, gateway: host.requests })
  }

  /** Whether the request asks for this channel. */
  serves(request: IncomingMessage): boolean {
    return request.url?.split('?')[0] === NODE_CHANNEL_PATH
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#strangers.size >= STRANGERS_MAX)
      return refuseUpgrade(
        socket,
        503,
        `${STRANGERS_MAX} connections have not introduced themselves as nodes yet; try again`,
      )
    this.#sockets.accept(request, socket, head, (webSocket) => {
      const shared = {
        messages: this.#messages,
        reports: this.#reports,
        catalog: this.#catalog,
        migrations: this.#migrations,
        strangers: this.#strangers,
      }
      new NodeConnection(this.#host, shared, webSocket).start()
    })
  }

  close(): void {
    this.#catalog.close()
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#sockets.close()
  }
}

/** What all connections of a server have in common. */
interface Shared {
  readonly messages: MessageSender
  readonly reports: NodeReports
  readonly catalog: CatalogHub
  readonly migrations: DataMigrations
  readonly strangers: Set<NodeConnection>
}

/** One node's connection, from hello to close. Messages are handled one after the other. */
class NodeConnection implements NodeSession {
  readonly #host: NodeChannelHost
  readonly #shared: Shared
  readonly #socket: WebSocket
  #nodeId = ''
  #isClosing = false
  #work: Promise<void> = Promise.resolve()
  #cancelHello: () => void
  #cancelTermination: () => void = () => undefined

  constructor(host: NodeChannelHost, shared: Shared, socket: WebSocket) {
    this.#host = host
    this.#shared = shared
    this.#socket = socket
    this.#cancelHello = host.clock.after(HELLO_MS_MAX, () => this.#refuse('no hello came in time'))
  }

  get nodeId(): string {
    return this.#nodeId
  }

  start(): void {
    this.#shared.strangers.add(this)
    this.#socket.on('message', (data) => {
      this.#work = this.#work
        .then(() => this.#receive(data))
        .catch((thrown: unknown) => this.#fail(thrown))
    })
    this.#socket.on('close', () => {
      this.#cancelHello()
      this.#cancelTermination()
      this.#shared.strangers.delete(this)
      this.#host.sessions.detach(this)
      this.#host.requests.gone(this)
      this.#shared.catalog.gone(this)
      this.#shared.migrations.gone(this)
    })
    // 'close' follows; an unheard 'error' event would end the process.
    this.#socket.on('error', (error) => this.#host.log.debug({ err: error }, 'node channel broke'))
  }

  send(text: PartedText): void {
    // A node that does not read: it gets the whole desired state when it connects again.
    if (this.#socket.bufferedAmount > UNREAD_BYTES_MAX) return this.#socket.terminate()
    this.#shared.messages.send(this.#socket, text)
  }

  close(): void {
    this.#isClosing = true
    this.#socket.close(1001)
  }

  answers(): Promise<boolean> {
    const socket = this.#socket
    if (this.#isClosing || socket.readyState !== socket.OPEN) return Promise.resolve(false)
    return new Promise((resolve) => {
      const end = (isThere: boolean): void => {
        cancel()
        socket.off('pong', heard)
        socket.off('close', closed)
        resolve(isThere)
      }
      const heard = (): void => end(true)
      const closed = (): void => end(false)
      const cancel = this.#host.clock.after(ANSWER_MS_MAX, closed)
      socket.on('pong', heard)
      socket.on('close', closed)
      socket.ping()
    })
  }

  async #receive(data: RawData): Promise<void> {
    // The node says it all again on its next channel.
    if (this.#isClosing) return
    // Text frames arrive as one Buffer with the default binaryType.
    const bytes = data as Buffer
    if (this.#nodeId === '' && bytes.length > HELLO_BYTES_MAX)
      return this.#refuse(`the first message has more than ${HELLO_BYTES_MAX} bytes`)
    const message = parseFirstJson(bytes.toString('utf8'))
    if (!isAgentMessage.Check(message)) {
      if (this.#nodeId === '') this.#refuse('the first message must be a hello of this version')
      return // later versions may say things this one does not know
    }
    if (message.kind === 'hello')
      // One connection is one node's, from its greeting to its end.
      return this.#nodeId === '' ? this.#hello(message) : this.#refuse('it has said hello already')
    if (this.#nodeId === '') return this.#refuse('the first message must be a hello')
    this.#host.seen(this.#nodeId)
    if (message.kind === 'heartbeat')
      this.#say({ kind: 'heartbeat', heartbeatMs: this.#host.heartbeatMs() })
    else if (message.kind === 'reply') this.#host.requests.reply(this, message)
    else if (message.kind === 'status') await this.#status(message)
    else if (message.kind === 'services') await this.#services(message)
    else if (message.kind === 'watch') this.#shared.catalog.watch(this, message.id, message.what)
    else if (message.kind === 'unwatch') this.#shared.catalog.unwatch(this, message.id)
    else if (message.kind === 'migrate') this.#shared.migrations.ask(this, message.allocation)
    else if (message.node.ID === this.#nodeId) await updateNode(this.#host.context, message.node)
  }

  async #hello(hello: HelloMessage): Promise<void> {
    const { context, sessions, clock, heartbeatMs } = this.#host
    if (hello.version !== CHANNEL_VERSION)
      return this.#refuse(`this server speaks version ${CHANNEL_VERSION} of the channel`)
    // Only who knows the secret of a node is told of it.
    const refused = helloRefusal(context, hello)
    if (refused !== undefined) return this.#refuse(refused.message)
    if ((await sessions.find(hello.node.ID)?.answers?.()) === true) return this.#refuseCopy(hello)
    const registered = await registerNode(context, hello)
    if (!registered.ok) return this.#refuse(registered.error.message)
    this.#cancelHello()
    this.#shared.strangers.delete(this)
    this.#nodeId = hello.node.ID
    this.#host.seen(this.#nodeId)
    this.#say({
      kind: 'welcome',
      heartbeatMs: heartbeatMs(),
      serverTimeMs: clock.nowMs(),
      region: context.region,
    })
    sessions.attach(this)
  }

  /** Two agents that take turns would both start whatever comes for the node. */
  #refuseCopy({ node: { ID: nodeId, Name: name } }: HelloMessage): void {
    const text = 'a second agent came with the identity of a node that is connected'
    this.#host.log.warn?.({ nodeId, name }, text)
    this.#refuse(
      `another agent is connected as node ${nodeId}. If this data directory is a copy of that ` +
        "agent's, stop this agent and give it an empty one: it becomes a node of its own",
    )
  }

  async #status({ seq, updates }: StatusMessage): Promise<void> {
    await this.#shared.reports.report(this.#nodeId, updates)
    this.#say({ kind: 'ack', seq })
  }

  async #services({ seq, sets, all }: ServicesMessage): Promise<void> {
    await reportServices(this.#host.context, { nodeId: this.#nodeId, sets, all })
    this.#say({ kind: 'services-ack', seq })
  }

  #say(message: ServerMessage): void {
    this.send(JSON.stringify(message))
  }

  #refuse(message: string): void {
    this.#isClosing = true
    this.#say({ kind: 'refuse', message })
    this.#end(1008)
  }

  /** A peer that does not complete the close is cut off: meanwhile it may send what it likes. */
  #end(code: number): void {
    this.#socket.close(code)
    this.#cancelTermination = this.#host.clock.after(CLOSE_MS_MAX, () => this.#socket.terminate())
  }

  /**
   * A message that is no JSON, or a storage that has failed: the agent dials again and says it all
   * again.
   */
  #fail(thrown: unknown): void {
    // Messages that came behind the first bad one are not worth a line each.
    if (this.#isClosing) return
    this.#isClosing = true
    this.#end(1011)
    const { log } = this.#host
    const fields = { nodeId: this.#nodeId, err: messageOf(thrown) }
    const isBadMessage = thrown instanceof SyntaxError || thrown instanceof JsonLimitError
    if (!isBadMessage) log.error(fields, 'node channel failed')
    else if (this.#nodeId === '') log.debug(fields, 'a stranger broke the protocol of nodes')
    else log.warn?.(fields, 'a node broke the protocol')
  }
}
