import {
  SERVER_STOPS,
  type HelloMessage,
  type NoDataMessage,
  type NodeRegistration,
  type ReplyMessage,
  type WelcomeMessage,
} from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Logger } from '../log.ts'
import type { Channel } from './channel.ts'
import { MessageQueue } from './inbox.ts'
import type { StatusOutbox } from './outbox.ts'
import {
  readServerMessage,
  type CatalogMessage,
  type DesiredEnvelope,
  type ReceivedMessage,
  type OpenEnvelope,
  type RequestEnvelope,
} from './server-message.ts'

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
