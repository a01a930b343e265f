import type {
  AllocationUpdate,
  HelloMessage,
  NoDataMessage,
  NodeRegistration,
  ReplyMessage,
  WelcomeMessage,
} from '@reeve/contract'
import type { Clock, Random } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Logger } from '../log.ts'
import { sleep, withTimeout } from '../timing.ts'
import type { Channel, Dialer } from './channel.ts'
import { StatusOutbox } from './outbox.ts'
import {
  type CatalogMessage,
  type DesiredEnvelope,
  type OpenEnvelope,
  type RequestEnvelope,
  ServerSession,
  type StreamDialer,
} from './session.ts'

interface ServerLinkOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly dialServer: Dialer
  helloMessage(): HelloMessage
  /** Current status of every allocation; sent on each new connection. */
  currentUpdates(): readonly AllocationUpdate[]
  /** Called when a server has accepted the node: a new full list follows. */
  onWelcome(welcome: WelcomeMessage): void
  onDesired(message: DesiredEnvelope): void
  /** Called with messages about services and variables. */
  onCatalogMessage?(message: CatalogMessage): void
  /** Called when requested migration data is not available. */
  onNoData?(message: NoDataMessage): void
  /** Called with each message of a server that has accepted the node. */
  onContact?(): void
  /** Handles a request for this node; without it requests are answered with 501. */
  onRequest?(message: RequestEnvelope): Promise<ReplyMessage>
  onOpenStream?(message: OpenEnvelope, dial: StreamDialer): Promise<ReplyMessage | undefined>
}

/** Maintains one connection to the servers: dials, registers, and reconnects after failures. */
export class ServerLink {
  readonly #options: ServerLinkOptions
  readonly #outbox = new StatusOutbox()
  readonly #stopping = new AbortController()
  #session: ServerSession | undefined
  #loop: Promise<void> | undefined
  #isFlushScheduled = false
  /** When a server announced its stop. */
  #serverStoppedMs = Number.NEGATIVE_INFINITY

  constructor(options: ServerLinkOptions) {
    this.#options = options
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#session?.close('the agent stops')
    await this.#loop
  }

  /** Reports the status of an allocation, as soon as a server is connected. */
  report(update: AllocationUpdate): void {
    this.#outbox.add(update)
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    // Changes within one microtask go into one report.
    queueMicrotask(() => {
      this.#isFlushScheduled = false
      this.#session?.flush()
    })
  }

  sendNode(node: NodeRegistration): void {
    this.#session?.sendNode(node)
  }

  /** Sends a message on the current connection; it is dropped if there is none. */
  send(message: object): void {
    this.#session?.send(message)
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#options
    const { signal } = this.#stopping
    let failures = 0
    while (!signal.aborted) {
      const wasWelcomed = await this.#connect()
      failures = wasWelcomed ? 0 : failures + 1
      const isRestarting =
        clock.nowMs() - this.#serverStoppedMs < AGENT_LIMITS.serverRestartWindowMs
      const { reconnectAfterRestartMaxDelayMs, reconnectMaxDelayMs } = AGENT_LIMITS
      const maxDelayMs = isRestarting ? reconnectAfterRestartMaxDelayMs : reconnectMaxDelayMs
      await sleep(clock, reconnectDelayMs(failures, random.next(), maxDelayMs), signal)
    }
  }

  /** Connects once; resolves to true if a server accepted the node. */
  async #connect(): Promise<boolean> {
    const { clock, log } = this.#options
    const dialing = this.#options.dialServer()
    let channel: Channel
    try {
      const timeoutMs = AGENT_LIMITS.dialTimeoutMs
      channel = await withTimeout(dialing, { clock, timeoutMs, operation: 'reaching a server' })
    } catch (thrown) {
      log.warn({ error: errorMessage(thrown) }, 'no server reached')
      void dialing.then(
        (late) => late.close(),
        () => undefined,
      )
      return false
    }
    return this.#runSession(channel)
  }

  async #runSession(channel: Channel): Promise<boolean> {
    const { clock, log } = this.#options
    const session = new ServerSession({
      channel,
      clock,
      log,
      statusOutbox: this.#outbox,
      helloMessage: () => this.#options.helloMessage(),
      onWelcome: (welcome) => {
        this.#outbox.reset(this.#options.currentUpdates())
        this.#options.onWelcome(welcome)
      },
      onDesired: (message) => this.#options.onDesired(message),
      onCatalogMessage: (message) => this.#options.onCatalogMessage?.(message),
      onNoData: (message) => this.#options.onNoData?.(message),
      onContact: () => this.#options.onContact?.(),
      onRequest: async (message) => {
        return (await this.#options.onRequest?.(message)) ?? notImplementedReply(message.id)
      },
      onOpenStream: async (message, dialStream) => {
        if (this.#options.onOpenStream === undefined) return notImplementedReply(message.stream)
        return await this.#options.onOpenStream(message, dialStream)
      },
    })
    this.#session = session
    if (this.#stopping.signal.aborted) session.close('the agent stops')
    const wasWelcomed = await session.run()
    if (wasWelcomed && session.hasServerStopped) this.#serverStoppedMs = clock.nowMs()
    this.#session = undefined
    return wasWelcomed
  }
}

function notImplementedReply(id: string): ReplyMessage {
  return { kind: 'reply', id, error: { status: 501, message: 'this node answers no requests' } }
}

/**
 * Delay before the next attempt after this many consecutive failures: exponential up to a maximum,
 * half of it random, so that the agents of a cluster do not all reconnect at once after a server
 * restart.
 */
export function reconnectDelayMs(
  failures: number,
  random: number,
  maxDelayMs: number = AGENT_LIMITS.reconnectMaxDelayMs,
): number {
  const { reconnectInitialDelayMs } = AGENT_LIMITS
  const ceilingMs = Math.min(maxDelayMs, reconnectInitialDelayMs * 2 ** Math.min(failures, 30))
  return Math.round(ceilingMs * (0.5 + 0.5 * random))
}
