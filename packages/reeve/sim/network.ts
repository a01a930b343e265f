import type { Channel } from '../src/agent/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { NodeSocket } from '../src/sessions/index.ts'
import type { RandomStream } from './random-stream.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** Current conditions of the network. */
export interface NetworkConditions {
  /** Maximum delay of a message. */
  delayMsMax: number
  /** Probability that a message is lost together with its connection: a stream never has gaps. */
  lossChance: number
}

interface NetworkOptions {
  readonly clock: VirtualClock
  readonly random: RandomStream
  readonly conditions: NetworkConditions
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
  readonly #connections = new Set<Connection>()
  readonly #partitioned = new Set<string>()

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /**
   * Connects a node to the leader. Never resolves for a caller that has died, because nothing could
   * use or close the connection.
   */
  async dial(nodeId: string, isAlive: () => boolean): Promise<Channel> {
    const { clock, accept } = this.#options
    await delay(clock, this.delayMs())
    const acceptConnection = accept(nodeId)
    if (acceptConnection === undefined || this.#partitioned.has(nodeId) || !isAlive())
      throw new Fault('dial', 'no server answers')
    const connection = new Connection(this, nodeId)
    this.#connections.add(connection)
    acceptConnection(connection.server)
    return connection.agent
  }

  /** Holds messages between a node and the leader until `heal`. */
  partition(nodeId: string): void {
    this.#partitioned.add(nodeId)
  }

  heal(nodeId: string): void {
    this.#partitioned.delete(nodeId)
    for (const wire of this.#connections) if (wire.nodeId === nodeId) wire.deliverPending()
  }

  isPartitioned(nodeId: string): boolean {
    return this.#partitioned.has(nodeId)
  }

  /** Breaks the connections of one node, or all. */
  dropConnections(nodeId?: string): void {
    for (const wire of this.#connections)
      if (nodeId === undefined || wire.nodeId === nodeId) wire.reset('connection reset')
  }

  delayMs(): number {
    const { random, conditions } = this.#options
    return random.between(0, conditions.delayMsMax)
  }

  isLost(): boolean {
    const { random, conditions } = this.#options
    return conditions.lossChance > 0 && random.chance(conditions.lossChance)
  }

  schedule(delayMs: number, wake: () => void): void {
    this.#options.clock.after(delayMs, wake)
  }

  remove(wire: Connection): void {
    this.#connections.delete(wire)
  }
}

function delay(clock: VirtualClock, delayMs: number): Promise<void> {
  return new Promise((resolve) => clock.after(delayMs, resolve))
}

type Packet =
  | { readonly text: string }
  | { readonly close: string }
  | { readonly ping: () => void }
  | { readonly pong: () => void }

/** One connection: two ends and the packets in transit. */
class Connection {
  readonly nodeId: string
  readonly agent: ConnectionEnd
  readonly server: ConnectionEnd

  constructor(network: Network, nodeId: string) {
    this.nodeId = nodeId
    this.agent = new ConnectionEnd(network, this)
    this.server = new ConnectionEnd(network, this)
    this.agent.peer = this.server
    this.server.peer = this.agent
  }

  deliverPending(): void {
    this.agent.deliverNext()
    this.server.deliverNext()
  }

  reset(reason: string): void {
    this.agent.reset(reason)
    this.server.reset(reason)
  }
}

class ConnectionEnd implements ServerChannel {
  peer: ConnectionEnd | undefined
  readonly #network: Network
  readonly #connection: Connection
  #outgoing: Packet[] = []
  #isPumping = false
  #isBroken = false
  #reason: string | undefined
  #onMessage: ((text: string) => void) | undefined
  #onClose: ((reason: string) => void) | undefined
  readonly #unread: string[] = []

  constructor(network: Network, wire: Connection) {
    this.#network = network
    this.#connection = wire
  }

  send(text: string): void {
    if (this.#reason !== undefined || this.#isBroken) return
    if (this.#network.isLost()) {
      this.#connection.reset('a message was lost')
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
    this.deliverNext()
  }

  onMessage(receive: (text: string) => void): void {
    this.#onMessage = receive
    for (const text of this.#unread.splice(0)) receive(text)
  }

  onClose(closed: (reason: string) => void): void {
    this.#onClose = closed
    if (this.#reason !== undefined) closed(this.#reason)
  }

  /** Pending messages still arrive; then the other side sees the close. */
  close(): void {
    if (this.#reason !== undefined) return
    this.#end('closed by this side')
    this.#outgoing.push({ close: 'closed by the other side' })
    this.deliverNext()
  }

  /** This side notices the break after a delay; anything it still sends is lost. */
  reset(reason: string): void {
    this.#isBroken = true
    this.#network.schedule(this.#network.delayMs() * 3, () => {
      this.#outgoing = []
      this.#end(reason)
      this.#network.remove(this.#connection)
    })
  }

  /** Delivers packets in order, each with its own delay, and none during a partition. */
  deliverNext(): void {
    if (this.#isPumping || this.#outgoing.length === 0) return
    if (this.#network.isPartitioned(this.#connection.nodeId)) return
    this.#isPumping = true
    this.#network.schedule(this.#network.delayMs(), () => {
      this.#isPumping = false
      if (this.#network.isPartitioned(this.#connection.nodeId)) return
      // Deliver everything that was queued meanwhile: delays do not add up in a stream.
      for (const packet of this.#outgoing.splice(0)) this.peer?.deliver(packet)
      this.deliverNext()
    })
  }

  deliver(packet: Packet): void {
    if (this.#reason !== undefined) return
    if ('close' in packet) this.#end(packet.close)
    else if ('ping' in packet) this.#push({ pong: packet.ping })
    else if ('pong' in packet) packet.pong()
    else if (this.#onMessage === undefined) this.#unread.push(packet.text)
    else this.#onMessage(packet.text)
  }

  #end(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#onClose?.(reason)
  }
}

/** A channel of the simulated network that can ping its other end. */
export interface ServerChannel extends Channel {
  /** Pings the other end; `pong` is called when the response arrives. */
  ping(onPong: () => void): void
}

interface ChannelSocketOptions {
  readonly channel: ServerChannel
  /** The process of this end has died: it no longer reads or writes. */
  readonly isDead: () => boolean
  /** Called for each message to a node. */
  readonly onSent: (text: string) => void
}

type Listener = (data: Buffer) => void

/** The server's end of a node channel, as the WebSocket that `NodeChannelServer` expects. */
export class ChannelSocket implements NodeSocket {
  readonly bufferedAmount = 0
  readonly OPEN = 1
  readonly #options: ChannelSocketOptions
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #unread: string[] = []
  #isPaused = false
  #isClosed = false

  constructor(options: ChannelSocketOptions) {
    this.#options = options
  }

  get readyState(): number {
    return this.#isClosed ? 3 : this.OPEN
  }

  /** Starts reading; all listeners are registered by now. */
  open(): void {
    const { channel } = this.#options
    channel.onClose(() => {
      this.#isClosed = true
      this.#emit('close', EMPTY)
    })
    channel.onMessage((text) => {
      if (this.#isPaused) this.#unread.push(text)
      else this.#emitMessage(text)
    })
  }

  on(event: 'message' | 'close' | 'pong' | 'error', listener: (data: never) => void): void {
    const listeners = this.#listeners.get(event) ?? new Set<Listener>()
    // Proof: messages are buffers, as for text frames; the other events have no data.
    this.#listeners.set(event, listeners.add(listener as Listener))
  }

  off(event: 'close' | 'pong', listener: () => void): void {
    this.#listeners.get(event)?.delete(listener)
  }

  send(bytes: Buffer): void {
    const { channel, isDead, onSent } = this.#options
    if (isDead()) return
    const text = bytes.toString()
    onSent(text)
    channel.send(text)
  }

  ping(): void {
    this.#options.channel.ping(() => this.#emit('pong', EMPTY))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    for (let text = this.#unread.shift(); text !== undefined; text = this.#unread.shift()) {
      this.#emitMessage(text)
      if (this.#isPaused) return
    }
  }

  close(): void {
    this.#options.channel.close()
  }

  terminate(): void {
    this.#options.channel.close()
  }

  #emitMessage(text: string): void {
    this.#emit('message', Buffer.from(text))
  }

  #emit(event: string, data: Buffer): void {
    if (event !== 'close' && this.#options.isDead()) return
    for (const listener of this.#listeners.get(event) ?? []) listener(data)
  }
}

const EMPTY = Buffer.alloc(0)
