import type { Channel } from '../src/agent/index.ts'
import type { ServerChannel } from './channel-socket.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { Draws } from './draws.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** Current conditions of the network. */
export interface NetworkTrouble {
  /** Maximum delay of a message. */
  delayMsMax: number
  /** Probability that a message is lost together with its connection: a stream never has gaps. */
  lossChance: number
}

export interface NetworkOptions {
  readonly clock: VirtualClock
  readonly draws: Draws
  readonly trouble: NetworkTrouble
  /** The accepting server; undefined if none accepts. */
  readonly accept: (nodeId: string) => ((channel: ServerChannel) => void) | undefined
}

/**
 * Connections between nodes and the leader, each ordered until it breaks. Either side notices a
 * break at a different time, and messages sent before may arrive after a newer connection exists:
 * that is how messages arrive late, twice or out of order in reality.
 */
export class Network {
  readonly #options: NetworkOptions
  readonly #wires = new Set<Wire>()
  readonly #apart = new Set<string>()

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /**
   * Connects a node to the leader. Never resolves for a caller that has died, because nothing could
   * use or close the connection.
   */
  async dial(nodeId: string, isAlive: () => boolean): Promise<Channel> {
    const { clock, accept } = this.#options
    await pass(clock, this.delayMs())
    const serve = accept(nodeId)
    if (serve === undefined || this.#apart.has(nodeId) || !isAlive())
      throw new Fault('dial', 'no server answers')
    const wire = new Wire(this, nodeId)
    this.#wires.add(wire)
    serve(wire.server)
    return wire.agent
  }

  /** Holds messages between a node and the leader until `heal`. */
  part(nodeId: string): void {
    this.#apart.add(nodeId)
  }

  join(nodeId: string): void {
    this.#apart.delete(nodeId)
    for (const wire of this.#wires) if (wire.nodeId === nodeId) wire.flush()
  }

  isApart(nodeId: string): boolean {
    return this.#apart.has(nodeId)
  }

  /** Breaks the connections of one node, or all. */
  cut(nodeId?: string): void {
    for (const wire of this.#wires)
      if (nodeId === undefined || wire.nodeId === nodeId) wire.breakUp('connection reset')
  }

  delayMs(): number {
    const { draws, trouble } = this.#options
    return draws.between(0, trouble.delayMsMax)
  }

  isLost(): boolean {
    const { draws, trouble } = this.#options
    return trouble.lossChance > 0 && draws.chance(trouble.lossChance)
  }

  later(delayMs: number, wake: () => void): void {
    this.#options.clock.after(delayMs, wake)
  }

  forget(wire: Wire): void {
    this.#wires.delete(wire)
  }
}

function pass(clock: VirtualClock, delayMs: number): Promise<void> {
  return new Promise((resolve) => clock.after(delayMs, resolve))
}

type Packet =
  | { readonly text: string }
  | { readonly close: string }
  | { readonly ping: () => void }
  | { readonly pong: () => void }

/** One connection: two ends and the packets in transit. */
class Wire {
  readonly nodeId: string
  readonly agent: End
  readonly server: End

  constructor(network: Network, nodeId: string) {
    this.nodeId = nodeId
    this.agent = new End(network, this)
    this.server = new End(network, this)
    this.agent.peer = this.server
    this.server.peer = this.agent
  }

  flush(): void {
    this.agent.pump()
    this.server.pump()
  }

  breakUp(reason: string): void {
    this.agent.breakUp(reason)
    this.server.breakUp(reason)
  }
}

class End implements ServerChannel {
  peer: End | undefined
  readonly #network: Network
  readonly #wire: Wire
  #outgoing: Packet[] = []
  #isPumping = false
  #isBroken = false
  #reason: string | undefined
  #receive: ((text: string) => void) | undefined
  #closed: ((reason: string) => void) | undefined
  readonly #unread: string[] = []

  constructor(network: Network, wire: Wire) {
    this.#network = network
    this.#wire = wire
  }

  send(text: string): void {
    if (this.#reason !== undefined || this.#isBroken) return
    if (this.#network.isLost()) {
      this.#wire.breakUp('a message was lost')
      return
    }
    this.#push({ text })
  }

  /** Answered by the other end's socket, as WebSocket pings are. */
  ping(pong: () => void): void {
    this.#push({ ping: pong })
  }

  #push(packet: Packet): void {
    if (this.#reason !== undefined || this.#isBroken) return
    this.#outgoing.push(packet)
    this.pump()
  }

  onMessage(receive: (text: string) => void): void {
    this.#receive = receive
    for (const text of this.#unread.splice(0)) receive(text)
  }

  onClose(closed: (reason: string) => void): void {
    this.#closed = closed
    if (this.#reason !== undefined) closed(this.#reason)
  }

  /** Pending messages still arrive; then the other side sees the close. */
  close(): void {
    if (this.#reason !== undefined) return
    this.#end('closed by this side')
    this.#outgoing.push({ close: 'closed by the other side' })
    this.pump()
  }

  /** This side notices the break after a delay; anything it still sends is lost. */
  breakUp(reason: string): void {
    this.#isBroken = true
    this.#network.later(this.#network.delayMs() * 3, () => {
      this.#outgoing = []
      this.#end(reason)
      this.#network.forget(this.#wire)
    })
  }

  /** Delivers packets in order, each with its own delay, and none during a partition. */
  pump(): void {
    if (this.#isPumping || this.#outgoing.length === 0) return
    if (this.#network.isApart(this.#wire.nodeId)) return
    this.#isPumping = true
    this.#network.later(this.#network.delayMs(), () => {
      this.#isPumping = false
      if (this.#network.isApart(this.#wire.nodeId)) return
      // Deliver everything that was queued meanwhile: delays do not add up in a stream.
      for (const packet of this.#outgoing.splice(0)) this.peer?.deliver(packet)
      this.pump()
    })
  }

  deliver(packet: Packet): void {
    if (this.#reason !== undefined) return
    if ('close' in packet) this.#end(packet.close)
    else if ('ping' in packet) this.#push({ pong: packet.ping })
    else if ('pong' in packet) packet.pong()
    else if (this.#receive === undefined) this.#unread.push(packet.text)
    else this.#receive(packet.text)
  }

  #end(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#closed?.(reason)
  }
}
