import type {
  AgentMessage,
  HelloMessage,
  ServerMessage,
  ServicesMessage,
  StatusMessage,
} from '@reeve/contract'
import type { Channel } from '../src/agent/index.ts'
import { Fault } from '../src/kit/fault.ts'
import { joinedText, type PartedText } from '../src/kit/parted-text.ts'
import {
  type NodeReports,
  registerNode,
  reportServices,
  updateNode,
  type NodeSession,
  type NodeSessions,
  type WorkloadContext,
} from '../src/workload/index.ts'

export interface NodeEndHost {
  readonly context: WorkloadContext
  readonly sessions: NodeSessions
  readonly reports: NodeReports
  readonly seen: (nodeId: string) => void
  readonly heartbeatMs: () => number
  readonly isDead: () => boolean
  /** A message goes to a node. */
  readonly sent: (text: string) => void
}

/**
 * The leader's end of one node's connection. It calls what `http/agent/node-channel.ts` calls, in
 * the same order: one message after the other, each answered when it is durable.
 */
export class NodeEnd implements NodeSession {
  readonly #host: NodeEndHost
  readonly #channel: Channel
  #nodeId = ''
  #work: Promise<void> = Promise.resolve()

  constructor(host: NodeEndHost, channel: Channel) {
    this.#host = host
    this.#channel = channel
    channel.onMessage((text) => {
      this.#work = this.#work
        .then(() => this.#receive(text))
        .catch((thrown: unknown) => this.#fail(thrown))
    })
  }

  get nodeId(): string {
    return this.#nodeId
  }

  send(parted: PartedText): void {
    if (this.#host.isDead()) return
    const text = joinedText(parted)
    this.#host.sent(text)
    this.#channel.send(text)
  }

  close(): void {
    this.#channel.close()
  }

  async #receive(text: string): Promise<void> {
    if (this.#host.isDead()) return
    // The agents of this world send nothing else.
    const message = JSON.parse(text) as AgentMessage
    if (message.kind === 'hello') return await this.#hello(message)
    this.#host.seen(this.#nodeId)
    if (message.kind === 'heartbeat')
      this.#say({ kind: 'heartbeat', heartbeatMs: this.#host.heartbeatMs() })
    else if (message.kind === 'status') await this.#status(message)
    else if (message.kind === 'services') await this.#services(message)
    else if (message.kind === 'node') await updateNode(this.#host.context, message.node)
  }

  async #hello(hello: HelloMessage): Promise<void> {
    const { context, sessions, heartbeatMs } = this.#host
    const registered = await registerNode(context, hello)
    if (!registered.ok) {
      this.#say({ kind: 'refuse', message: registered.error.message })
      this.close()
      return
    }
    this.#nodeId = hello.node.ID
    this.#host.seen(this.#nodeId)
    const serverTimeMs = context.clock.nowMs()
    this.#say({
      kind: 'welcome',
      heartbeatMs: heartbeatMs(),
      serverTimeMs,
      region: context.region,
    })
    sessions.attach(this)
  }

  async #status({ seq, updates }: StatusMessage): Promise<void> {
    await this.#host.reports.report(this.#nodeId, updates)
    this.#say({ kind: 'ack', seq })
  }

  async #services({ seq, sets, all }: ServicesMessage): Promise<void> {
    await reportServices(this.#host.context, { nodeId: this.#nodeId, sets, all })
    this.#say({ kind: 'services-ack', seq })
  }

  #say(message: ServerMessage): void {
    this.send(JSON.stringify(message))
  }

  /** The storage has failed: the agent dials again and says it all again. */
  #fail(thrown: unknown): void {
    if (!(thrown instanceof Fault)) throw thrown
    this.close()
  }
}
