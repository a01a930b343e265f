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
import type { Log } from '../log.ts'
import type { Channel } from './channel.ts'
import { Inbox } from './inbox.ts'
import type { Outbox } from './outbox.ts'
import {
  readServerMessage,
  type CatalogMessage,
  type DesiredEnvelope,
  type Incoming,
  type OpenEnvelope,
  type RequestEnvelope,
} from './server-message.ts'

interface SessionOptions {
  readonly channel: Channel
  readonly clock: Clock
  readonly log: Log
  readonly outbox: Outbox
  hello(): HelloMessage
  /** The server has let the node in. */
  welcomed(welcome: WelcomeMessage): void
  desired(message: DesiredEnvelope): void
  catalog?(message: CatalogMessage): void
  /** The data that an allocation asked for does not come. */
  noData?(message: NoDataMessage): void
  /** The server has let the node in, and says something. */
  heard(): void
  /** What a caller asks of this node; the reply goes back on the same channel. */
  requested(message: RequestEnvelope): Promise<ReplyMessage>
  /** The same for a stream; undefined when it was served on its own connection. */
  opened(message: OpenEnvelope, dial: Dialler): Promise<ReplyMessage | undefined>
}

/** Dials the server for one stream. */
export type Dialler = () => Promise<StreamSocket>

/**
 * One connection from its greeting to its end. Every wait in it has a deadline on the given clock.
 */
export class Session {
  readonly #options: SessionOptions
  readonly #inbox = new Inbox()
  #isLive = false
  #isClosed = false
  #hasServerStopped = false
  #heartbeatMs = 0
  #heardMs = 0
  #cancelDeadline: () => void = () => undefined
  #cancelHeartbeat: () => void = () => undefined
  #cancelReceipt: () => void = () => undefined

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** Resolves when the connection has ended: true when the server had let the node in. */
  async run(): Promise<boolean> {
    const { channel, clock, log } = this.#options
    if (this.#isClosed) return false
    channel.onClose((reason) => {
      this.#hasServerStopped = reason === SERVER_STOPS
      if (!this.#isClosed) log.warn({ reason }, 'connection to the server ended')
      this.#end()
    })
    channel.onMessage((text) => {
      if (!this.#inbox.put(text)) this.close('the server sends faster than this node can follow')
    })
    this.#cancelDeadline = clock.after(AGENT_LIMITS.greetingMsMax, () => {
      this.close('the server did not answer the greeting')
    })
    channel.send(JSON.stringify(this.#options.hello()))
    for (;;) {
      const text = await this.#inbox.next()
      if (text === undefined) return this.#isLive
      this.#receive(text)
    }
  }

  /** Whether the server stopped in order. */
  get hasServerStopped(): boolean {
    return this.#hasServerStopped
  }

  /** Sends what waits in the outbox, unless a report is on its way. */
  flush(): void {
    if (!this.#isLive || this.#isClosed) return
    const report = this.#options.outbox.next()
    if (report === undefined) return
    this.#options.channel.send(report.text)
    this.#cancelReceipt = this.#options.clock.after(AGENT_LIMITS.receiptMsMax, () => {
      this.close('the server did not confirm a status report')
    })
  }

  sendNode(node: NodeRegistration): void {
    if (this.#isLive) this.#options.channel.send(JSON.stringify({ kind: 'node', node }))
  }

  /** Says something that nobody waits for; lost when there is no server. */
  say(message: object): void {
    if (this.#isLive && !this.#isClosed) this.#options.channel.send(JSON.stringify(message))
  }

  close(reason: string): void {
    if (this.#isClosed) return
    this.#options.log.warn({ reason }, 'closing the connection to the server')
    this.#end()
    this.#options.channel.close()
  }

  #end(): void {
    this.#isClosed = true
    this.#cancelDeadline()
    this.#cancelHeartbeat()
    this.#cancelReceipt()
    this.#inbox.close()
  }

  #receive(text: string): void {
    this.#heardMs = this.#options.clock.monotonicMs()
    const message = readServerMessage(text)
    if (!message.ok) this.close(`the server broke the protocol: ${message.error}`)
    else if (message.value !== undefined) this.#act(message.value)
    if (this.#isLive && message.ok) this.#options.heard()
  }

  #act(message: Incoming): void {
    const { log, outbox } = this.#options
    switch (message.kind) {
      case 'welcome':
        this.#welcome(message)
        return
      case 'refuse':
        log.error({ reason: message.message }, 'the server refused this node')
        this.close('refused')
        return
      case 'heartbeat':
        this.#heartbeatMs = clampHeartbeat(message.heartbeatMs)
        return
      case 'ack':
        if (outbox.acknowledge(message.seq)) this.#cancelReceipt()
        this.flush()
        return
      case 'desired':
        if (this.#isLive) this.#options.desired(message)
        return
      case 'request':
        if (this.#isLive) void this.#options.requested(message).then((reply) => this.say(reply))
        return
      case 'open':
        if (this.#isLive) void this.#open(message)
        return
      case 'services-ack':
      case 'facts':
        if (this.#isLive) this.#options.catalog?.(message)
        return
      case 'no-data':
        if (this.#isLive) this.#options.noData?.(message)
        return
    }
  }

  async #open(message: OpenEnvelope): Promise<void> {
    const { channel } = this.#options
    const { stream, secret } = message
    const dial = (): Promise<StreamSocket> => {
      return channel.openStream?.(stream, secret) ?? Promise.reject(NO_STREAMS)
    }
    const reply = await this.#options.opened(message, dial)
    if (reply !== undefined) this.say(reply)
  }

  #welcome(message: WelcomeMessage): void {
    if (this.#isLive) return
    this.#isLive = true
    this.#cancelDeadline()
    this.#heartbeatMs = clampHeartbeat(message.heartbeatMs)
    this.#options.welcomed(message)
    this.#beatLater()
    this.flush()
  }

  #beatLater(): void {
    const { clock } = this.#options
    const dueMs = clock.monotonicMs() + this.#heartbeatMs
    this.#cancelHeartbeat = clock.after(this.#heartbeatMs, () => {
      // When the agent itself stood still, what the server said meanwhile is not read yet.
      const lateMs = clock.monotonicMs() - dueMs
      const silentMs = clock.monotonicMs() - this.#heardMs - lateMs
      if (silentMs > this.#heartbeatMs * AGENT_LIMITS.silentHeartbeatsMax) {
        this.close('the server is silent')
        return
      }
      this.#options.channel.send('{"kind":"heartbeat"}')
      this.#beatLater()
    })
  }
}

const NO_STREAMS = new Fault('dial', 'this node cannot open streams')

function clampHeartbeat(ms: number): number {
  return Math.min(AGENT_LIMITS.heartbeatMsMax, Math.max(AGENT_LIMITS.heartbeatMsMin, ms))
}
