import type { Channel } from '../src/agent/index.ts'
import type { ServerChannel } from './channel-socket.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { Draws } from './draws.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** How bad the network is just now. */
export interface NetworkTrouble {
  /** The longest that a message takes. */
  delayMsMax: number
  /** How often a message is lost, and its connection with it: a stream never lacks its middle. */
  lossChance: number
}

export interface NetworkOptions {
  readonly clock: VirtualClock
  readonly draws: Draws
  readonly trouble: NetworkTrouble
  /** Who answers; undefined while nobody does. */
  readonly accept: (nodeId: string) => ((channel: ServerChannel) => void) | undefined
}

/**
 * Streams between nodes and the leader, each in order until it breaks. Either side learns of a
 * break in its own time, and what was sent before it may arrive long after a newer connection was
 * made: that is how messages come late, twice or out of order in the real world.
 */
export class Network {
  readonly #options: NetworkOptions
  readonly #wires = new Set<Wire>()
  readonly #apart = new Set<string>()

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /**
   * A connection from a node to the leader. A caller that died meanwhile never has one: nobody is
   * left who could speak on it, or close it.
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

  /** Messages between a node and the leader wait until they are joined again. */
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

  /** Breaks the connections of a node, or of everybody. */
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

/** One connection: two ends, and what is on its way between them. */
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

  /** Answered by the other end itself, as those of WebSockets are. */
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

  /** What was sent before still arrives; then the other side learns of the end. */
  close(): void {
    if (this.#reason !== undefined) return
    this.#end('closed by this side')
    this.#outgoing.push({ close: 'closed by the other side' })
    this.pump()
  }

  /** This side learns of the break after a while; what it still sends goes nowhere. */
  breakUp(reason: string): void {
    this.#isBroken = true
    this.#network.later(this.#network.delayMs() * 3, () => {
      this.#outgoing = []
      this.#end(reason)
      this.#network.forget(this.#wire)
    })
  }

  /** One packet after the other, each in its own time, and none while the two are apart. */
  pump(): void {
    if (this.#isPumping || this.#outgoing.length === 0) return
    if (this.#network.isApart(this.#wire.nodeId)) return
    this.#isPumping = true
    this.#network.later(this.#network.delayMs(), () => {
      this.#isPumping = false
      if (this.#network.isApart(this.#wire.nodeId)) return
      // Those that were sent meanwhile have caught up: a stream is not slower than its messages.
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
