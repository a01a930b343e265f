import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import {
  SERVER_STOPS,
  type HelloMessage,
  NoDataMessage,
  type NodeRegistration,
  type ReplyMessage,
  WelcomeMessage,
  AckMessage,
  DesiredMessage,
  WatchUpdateMessage,
  HeartbeatReply,
  OpenMessage,
  RequestMessage,
  RefuseMessage,
  ServicesAck,
  type Infer,
} from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Logger } from '../log.ts'
import type { Channel } from './channel.ts'
import type { StatusOutbox } from './outbox.ts'

interface SessionOptions {
  readonly channel: Channel
  readonly clock: Clock
  readonly log: Logger
  readonly statusOutbox: StatusOutbox
  helloMessage(): HelloMessage
  /** Called when the server has accepted the node. */
  onWelcome(welcome: WelcomeMessage): void
  onDesired(message: DesiredEnvelope): void
  onCatalogMessage?(message: CatalogMessage): void
  /** Called when requested migration data is not available. */
  onNoData?(message: NoDataMessage): void
  /** Called with each message after the server has accepted the node. */
  onContact(): void
  /** Handles a request; the reply is sent on the same channel. */
  onRequest(message: RequestEnvelope): Promise<ReplyMessage>
  /** Handles a stream request; undefined if it was served on its own connection. */
  onOpenStream(message: OpenEnvelope, dial: StreamDialer): Promise<ReplyMessage | undefined>
}

/** Dials the server for one stream. */
export type StreamDialer = () => Promise<StreamSocket>

/**
 * One connection, from the hello message to its end. Every wait has a deadline on the given clock.
 */
export class ServerSession {
  readonly #options: SessionOptions
  readonly #messages = new MessageQueue()
  #isWelcomed = false
  #isClosed = false
  #hasServerStopped = false
  #heartbeatIntervalMs = 0
  #lastReceivedMs = 0
  #cancelHelloTimeout: () => void = () => undefined
  #cancelHeartbeat: () => void = () => undefined
  #cancelAckTimeout: () => void = () => undefined

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** Resolves when the connection has ended: true if the server had accepted the node. */
  async run(): Promise<boolean> {
    const { channel, clock, log } = this.#options
    if (this.#isClosed) return false
    channel.onClose((reason) => {
      this.#hasServerStopped = reason === SERVER_STOPS
      if (!this.#isClosed) log.warn({ reason }, 'connection to the server ended')
      this.#stopTimers()
    })
    channel.onMessage((text) => {
      if (!this.#messages.push(text))
        this.close('the server sends faster than this node can process')
    })
    this.#cancelHelloTimeout = clock.after(AGENT_LIMITS.helloTimeoutMs, () => {
      this.close('the server did not answer the hello message')
    })
    channel.send(JSON.stringify(this.#options.helloMessage()))
    for (;;) {
      const text = await this.#messages.next()
      if (text === undefined) return this.#isWelcomed
      this.#receive(text)
    }
  }

  /** Whether the server announced its stop. */
  get hasServerStopped(): boolean {
    return this.#hasServerStopped
  }

  /** Sends the pending updates unless a report is in flight. */
  flush(): void {
    if (!this.#isWelcomed || this.#isClosed) return
    const report = this.#options.statusOutbox.next()
    if (report === undefined) return
    this.#options.channel.send(report.json)
    this.#cancelAckTimeout = this.#options.clock.after(AGENT_LIMITS.reportAckTimeoutMs, () => {
      this.close('the server did not confirm a status report')
    })
  }

  sendNode(node: NodeRegistration): void {
    if (this.#isWelcomed) this.#options.channel.send(JSON.stringify({ kind: 'node', node }))
  }

  /** Sends a message without a reply; it is dropped if no server is connected. */
  send(message: object): void {
    if (this.#isWelcomed && !this.#isClosed) this.#options.channel.send(JSON.stringify(message))
  }

  close(reason: string): void {
    if (this.#isClosed) return
    this.#options.log.warn({ reason }, 'closing the connection to the server')
    this.#stopTimers()
    this.#options.channel.close()
  }

  #stopTimers(): void {
    this.#isClosed = true
    this.#cancelHelloTimeout()
    this.#cancelHeartbeat()
    this.#cancelAckTimeout()
    this.#messages.close()
  }

  #receive(text: string): void {
    this.#lastReceivedMs = this.#options.clock.monotonicMs()
    const message = readServerMessage(text)
    if (!message.ok) this.close(`the server broke the protocol: ${message.error}`)
    else if (message.value !== undefined) this.#dispatch(message.value)
    if (this.#isWelcomed && message.ok) this.#options.onContact()
  }

  #dispatch(message: ReceivedMessage): void {
    const { log, statusOutbox } = this.#options
    switch (message.kind) {
      case 'welcome':
        this.#handleWelcome(message)
        return
      case 'refuse':
        log.error({ reason: message.message }, 'the server refused this node')
        this.close('refused')
        return
      case 'heartbeat':
        this.#heartbeatIntervalMs = clampHeartbeatInterval(message.heartbeatMs)
        return
      case 'ack':
        if (statusOutbox.acknowledge(message.seq)) this.#cancelAckTimeout()
        this.flush()
        return
      case 'desired':
        if (this.#isWelcomed) this.#options.onDesired(message)
        return
      case 'request':
        if (this.#isWelcomed)
          void this.#options.onRequest(message).then((reply) => this.send(reply))
        return
      case 'open':
        if (this.#isWelcomed) void this.#openStream(message)
        return
      case 'services-ack':
      case 'facts':
        if (this.#isWelcomed) this.#options.onCatalogMessage?.(message)
        return
      case 'no-data':
        if (this.#isWelcomed) this.#options.onNoData?.(message)
        return
    }
  }

  async #openStream(message: OpenEnvelope): Promise<void> {
    const { channel } = this.#options
    const { stream, secret } = message
    const dialStream = (): Promise<StreamSocket> => {
      return channel.openStream?.(stream, secret) ?? Promise.reject(STREAMS_UNSUPPORTED)
    }
    const reply = await this.#options.onOpenStream(message, dialStream)
    if (reply !== undefined) this.send(reply)
  }

  #handleWelcome(message: WelcomeMessage): void {
    if (this.#isWelcomed) return
    this.#isWelcomed = true
    this.#cancelHelloTimeout()
    this.#heartbeatIntervalMs = clampHeartbeatInterval(message.heartbeatMs)
    this.#options.onWelcome(message)
    this.#scheduleHeartbeat()
    this.flush()
  }

  #scheduleHeartbeat(): void {
    const { clock } = this.#options
    const dueMs = clock.monotonicMs() + this.#heartbeatIntervalMs
    this.#cancelHeartbeat = clock.after(this.#heartbeatIntervalMs, () => {
      // If the agent itself was stalled, messages of the server are not read yet.
      const timerDelayMs = clock.monotonicMs() - dueMs
      const sinceLastMessageMs = clock.monotonicMs() - this.#lastReceivedMs - timerDelayMs
      if (sinceLastMessageMs > this.#heartbeatIntervalMs * AGENT_LIMITS.missedHeartbeatsMax) {
        this.close('the server is silent')
        return
      }
      this.#options.channel.send('{"kind":"heartbeat"}')
      this.#scheduleHeartbeat()
    })
  }
}

const STREAMS_UNSUPPORTED = new Fault('dial', 'this node cannot open streams')

function clampHeartbeatInterval(intervalMs: number): number {
  return Math.min(
    AGENT_LIMITS.heartbeatIntervalMaxMs,
    Math.max(AGENT_LIMITS.heartbeatIntervalMinMs, intervalMs),
  )
}

/** Bounded queue of received messages, processed in order. */
export class MessageQueue {
  readonly #messages: string[] = []
  #isClosed = false
  #wake: (() => void) | undefined

  /** Returns false if the queue is full: the server sends faster than the agent processes. */
  push(text: string): boolean {
    if (this.#messages.length >= AGENT_LIMITS.undeliveredMessagesMax) return false
    this.#messages.push(text)
    this.#wake?.()
    return true
  }

  close(): void {
    this.#isClosed = true
    this.#wake?.()
  }

  /** Resolves to the next message, or to undefined after close. One reader only. */
  async next(): Promise<string | undefined> {
    if (this.#messages.length === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    return this.#isClosed ? undefined : this.#messages.shift()
  }
}

/**
 * The `desired` message. Entries are parsed separately (`readAssignment`), so that an unreadable
 * one does not affect the others.
 */
const DesiredEnvelope = Type.Object({
  ...DesiredMessage.properties,
  allocations: Type.Array(Type.Unknown()),
})
export type DesiredEnvelope = Infer<typeof DesiredEnvelope>

/** Messages about services and variables (contract: services/catalog-client.ts). */
export type CatalogMessage = ServicesAck | WatchUpdateMessage

/** The inner request is parsed by its handler: a newer server may send requests unknown here. */
const RequestEnvelope = Type.Object({ ...RequestMessage.properties, request: Type.Unknown() })
export type RequestEnvelope = Infer<typeof RequestEnvelope>
const OpenEnvelope = Type.Object({ ...OpenMessage.properties, request: Type.Unknown() })
export type OpenEnvelope = Infer<typeof OpenEnvelope>

type ReceivedMessage =
  | RequestEnvelope
  | OpenEnvelope
  | Infer<typeof WelcomeMessage>
  | Infer<typeof HeartbeatReply>
  | Infer<typeof AckMessage>
  | Infer<typeof RefuseMessage>
  | CatalogMessage
  | NoDataMessage
  | DesiredEnvelope

const messageCheckers = {
  welcome: Compile(WelcomeMessage),
  heartbeat: Compile(HeartbeatReply),
  ack: Compile(AckMessage),
  refuse: Compile(RefuseMessage),
  desired: Compile(DesiredEnvelope),
  request: Compile(RequestEnvelope),
  open: Compile(OpenEnvelope),
  'services-ack': Compile(ServicesAck),
  facts: Compile(WatchUpdateMessage),
  'no-data': Compile(NoDataMessage),
} as const

/** Parses one frame of a server. Undefined for an unknown kind; an error for an invalid frame. */
export function readServerMessage(text: string): Result<ReceivedMessage | undefined, string> {
  const value = parseJson(text)
  const kind: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'kind') : 0
  if (typeof kind !== 'string') return err('a frame is not a message')
  if (!isKnownKind(kind)) return ok(undefined)
  const checker = messageCheckers[kind]
  if (checker.Check(value))
    return ok(
      value.kind === 'desired' ? { ...value, allocations: restoreSharedJobs(value) } : value,
    )
  const [firstError] = checker.Errors(value)
  return err(`${kind}${firstError?.instancePath ?? ''} ${firstError?.message ?? 'is not readable'}`)
}

/** Restores the job of entries that share it with an earlier one (contract: DesiredEntry). */
function restoreSharedJobs({ allocations }: DesiredEnvelope): readonly unknown[] {
  return allocations.map((entry) => {
    if (typeof entry !== 'object' || entry === null || !('jobOf' in entry)) return entry
    const entryWithJob = typeof entry.jobOf === 'number' ? allocations[entry.jobOf] : undefined
    if (typeof entryWithJob !== 'object' || entryWithJob === null || !('job' in entryWithJob))
      return entry
    return { ...entry, job: entryWithJob.job }
  })
}

function isKnownKind(kind: string): kind is keyof typeof messageCheckers {
  return Object.hasOwn(messageCheckers, kind)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Invalid JSON is rejected like any other frame that is not an object.
    return undefined
  }
}
