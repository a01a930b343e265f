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
import type { Log } from '../log.ts'
import { pause, withDeadline } from '../wait.ts'
import { backoffMs } from './backoff.ts'
import type { Channel, Dial } from './channel.ts'
import { Outbox } from './outbox.ts'
import type {
  CatalogMessage,
  DesiredEnvelope,
  OpenEnvelope,
  RequestEnvelope,
} from './server-message.ts'
import { Session, type Dialler } from './session.ts'

interface ServerLinkOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly dial: Dial
  hello(): HelloMessage
  /** How every allocation stands; told again on each new connection. */
  updates(): readonly AllocationUpdate[]
  /** A server has let the node in: what it lists from here on is a new listing. */
  welcomed(welcome: WelcomeMessage): void
  desired(message: DesiredEnvelope): void
  /** A server spoke of services or variables. */
  catalog?(message: CatalogMessage): void
  /** The data that an allocation asked for does not come. */
  noData?(message: NoDataMessage): void
  /** A server that has let the node in said something. */
  heard?(): void
  /** What a caller asks of this node; a node without it says that it cannot. */
  requested?(message: RequestEnvelope): Promise<ReplyMessage>
  opened?(message: OpenEnvelope, dial: Dialler): Promise<ReplyMessage | undefined>
}

/**
 * Keeps one connection to the servers alive: dials, greets, and begins anew when it breaks, for
 * ever.
 */
export class ServerLink {
  readonly #options: ServerLinkOptions
  readonly #outbox = new Outbox()
  readonly #stopping = new AbortController()
  #session: Session | undefined
  #loop: Promise<void> | undefined
  #isFlushDue = false
  /** When a server said that it stops. */
  #stoppedMs = Number.NEGATIVE_INFINITY

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

  /** Tells the servers how an allocation stands, now or as soon as one is there. */
  report(update: AllocationUpdate): void {
    this.#outbox.offer(update)
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    // What changes in one turn goes out in one report.
    queueMicrotask(() => {
      this.#isFlushDue = false
      this.#session?.flush()
    })
  }

  sendNode(node: NodeRegistration): void {
    this.#session?.sendNode(node)
  }

  /** Says something on the connection of the moment; lost when there is none. */
  say(message: object): void {
    this.#session?.say(message)
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#options
    const { signal } = this.#stopping
    let failures = 0
    while (!signal.aborted) {
      const wasLive = await this.#connect()
      failures = wasLive ? 0 : failures + 1
      const isRestarting = clock.nowMs() - this.#stoppedMs < AGENT_LIMITS.restartMsMax
      const { restartReconnectMsMax, reconnectMsMax } = AGENT_LIMITS
      const msMax = isRestarting ? restartReconnectMsMax : reconnectMsMax
      await pause(clock, backoffMs(failures, random.next(), msMax), signal)
    }
  }

  /** True when a server had let the node in. */
  async #connect(): Promise<boolean> {
    const { clock, log } = this.#options
    const dialing = this.#options.dial()
    let channel: Channel
    try {
      const ms = AGENT_LIMITS.dialMsMax
      channel = await withDeadline(dialing, { clock, ms, what: 'reaching a server' })
    } catch (thrown) {
      log.warn({ error: errorMessage(thrown) }, 'no server reached')
      void dialing.then(
        (late) => late.close(),
        () => undefined,
      )
      return false
    }
    return this.#converse(channel)
  }

  async #converse(channel: Channel): Promise<boolean> {
    const { clock, log } = this.#options
    const session = new Session({
      channel,
      clock,
      log,
      outbox: this.#outbox,
      hello: () => this.#options.hello(),
      welcomed: (welcome) => {
        this.#outbox.restart(this.#options.updates())
        this.#options.welcomed(welcome)
      },
      desired: (message) => this.#options.desired(message),
      catalog: (message) => this.#options.catalog?.(message),
      noData: (message) => this.#options.noData?.(message),
      heard: () => this.#options.heard?.(),
      requested: async (message) => {
        return (await this.#options.requested?.(message)) ?? cannot(message.id)
      },
      opened: async (message, dial) => {
        if (this.#options.opened === undefined) return cannot(message.stream)
        return await this.#options.opened(message, dial)
      },
    })
    this.#session = session
    if (this.#stopping.signal.aborted) session.close('the agent stops')
    const wasLive = await session.run()
    if (wasLive && session.hasServerStopped) this.#stoppedMs = clock.nowMs()
    this.#session = undefined
    return wasLive
  }
}

function cannot(id: string): ReplyMessage {
  return { kind: 'reply', id, error: { status: 501, message: 'this node answers no requests' } }
}
