import type { ReadConsistency } from '../../src/http/index.ts'
import { decodeCommit, encodeCommit } from '../../src/state/codec.ts'
import type { Commit } from '../../src/state/index.ts'
import { escapeText, unescapeText } from '../../src/storage/embedded/text-escape.ts'
import type { Draws } from '../draws.ts'
import type { ServerChannel } from '../channel-socket.ts'
import { jumpWithDeadlines } from '../invariants/deadlines.ts'
import type { Leader } from '../leader.ts'
import type { ServerFault, Serving } from '../serving.ts'
import { Violation } from '../trace.ts'
import type { World } from '../world.ts'
import type { ClusterView } from './cluster-view.ts'
import type { DatabaseTrouble } from './database-link.ts'
import { clockFaults, clusterFaults } from './cluster-faults.ts'
import { RegisterClients } from './register-clients.ts'
import { SharedDatabase, type Sender, type WrittenEntry } from './shared-database.ts'
import { aRequest, SimServer } from './sim-server.ts'

const NAMES = ['s1', 's2', 's3'] as const
const RESTART_MS_MAX = 5_000
/** Maximum drift between the clocks of two machines. */
const DRIFT_MAX = 0.04
const WALL_SKEW_MS_MAX = 300
const WATCH_MS = 250
/** Longer than a lease plus a start: the leader after this time stays leader. */
const CALM_MS = 20_000
const NODE_CHANNEL = '/v1/node/channel'
const NODE_CONSISTENCY: ReadConsistency = {
  answeredBy: 'leader',
  isRead: true,
  isStale: false,
  isConsistent: false,
}

/** Several servers that share one database. */
export class ServerCluster implements Serving, ClusterView {
  readonly faults: readonly ServerFault[]
  readonly clockFaults: readonly ServerFault[]
  readonly servers: readonly SimServer[]
  readonly trouble: DatabaseTrouble = {
    delayMsMax: 3,
    lossChance: 0,
    answerLossChance: 0,
    lateChance: 0,
    isAway: false,
    strike: undefined,
  }
  readonly world: World
  readonly clients: RegisterClients
  readonly #database: SharedDatabase
  readonly #draws: Draws
  /** Partitioned pairs: two servers, a server and a node, or a server and the database. */
  readonly #apart = new Set<string>()
  readonly #skews = new Map<string, { ms: number; readonly atFirstMs: number }>()
  /** All entries ever written, by index. */
  readonly #texts: string[] = ['']
  readonly #writers = new Map<number, string>()
  /** The last commit that each server has published. */
  readonly #told = new Map<SimServer, number>()
  /** The servers through which a node's connection goes. */
  readonly #paths = new Map<string, readonly SimServer[]>()
  /** Lengths of the log over time, to check how recent a follower claims to be. */
  readonly #lengths: { readonly atMs: number; readonly index: number }[] = [{ atMs: 0, index: 0 }]
  #readFrom: Leader | undefined
  #crashes = 0
  #isCalm = false

  constructor(world: World) {
    this.world = world
    this.#draws = world.draws('cluster')
    this.#database = new SharedDatabase({
      nowMs: () => world.clock.nowMs,
      appended: (entries, by) => this.#appended(entries, by),
      moved: () => this.#ring('lease'),
    })
    this.servers = NAMES.map((name) => this.#makeServer(name))
    this.faults = clusterFaults(this)
    this.clockFaults = clockFaults(this)
    this.clients = new RegisterClients(this)
  }

  #makeServer(name: string): SimServer {
    const { world } = this
    const draws = world.draws(`server ${name}`)
    const atFirstMs = draws.between(-WALL_SKEW_MS_MAX, WALL_SKEW_MS_MAX)
    const skew = { ms: atFirstMs, atFirstMs }
    this.#skews.set(name, skew)
    return new SimServer({
      name,
      world: world.clock,
      rate: 1 + (draws.next() * 2 - 1) * DRIFT_MAX,
      skew,
      link: {
        database: this.#database,
        draws: world.draws(`database link ${name}`),
        trouble: this.trouble,
        isCut: () => this.isApart(name, 'database'),
      },
      parts: world.leaderParts,
      isCalm: () => this.#isCalm,
      opened: (server, index) => this.#told.set(server, index),
      revealed: (server, commits) => this.#checkRevealed(server, commits),
      ended: (server) => this.#startLater(server),
    })
  }

  get leader(): Leader | undefined {
    return this.servers.find((server) => server.leading !== undefined)?.leading
  }

  get crashes(): number {
    return this.#crashes
  }

  async open(): Promise<void> {
    for (const server of this.servers) server.start()
    this.#watch()
    this.clients.start()
  }

  /** Kills all servers and restarts them after a while. */
  async crash(reason: string): Promise<void> {
    for (const server of this.servers) this.kill(server, reason)
  }

  kill(server: SimServer, reason: string): void {
    if (server.process.isDead) return
    this.#crashes += 1
    this.world.trace.say(`${server.name} dies: ${reason}`)
    server.kill()
    this.#gone(server)
  }

  stop(server: SimServer): void {
    if (!server.process.isRunning) return
    this.world.trace.say(`${server.name} is asked to stop`)
    void server.stop().then(() => this.#gone(server))
  }

  #gone(server: SimServer): void {
    for (const [nodeId, path] of this.#paths)
      if (path.includes(server)) this.world.network.cut(nodeId)
    this.#startLater(server)
  }

  #startLater(server: SimServer): void {
    this.world.clock.after(this.#draws.between(0, RESTART_MS_MAX), () => server.start())
  }

  part(a: string, b: string): void {
    this.#apart.add([a, b].toSorted().join(' '))
    for (const [nodeId, path] of this.#paths)
      if (path.some(({ name }) => this.isApart(nodeId, name))) this.world.network.cut(nodeId)
  }

  join(a: string, b: string): void {
    this.#apart.delete([a, b].toSorted().join(' '))
  }

  isApart(a: string, b: string): boolean {
    return this.#apart.has([a, b].toSorted().join(' '))
  }

  get isCalm(): boolean {
    return this.#isCalm
  }

  setClock(server: SimServer, aheadMs: number): void {
    const skew = this.#skews.get(server.name)
    if (skew === undefined) return
    jumpWithDeadlines(
      server.leading,
      () => {
        skew.ms = skew.atFirstMs + aheadMs
      },
      (work) => this.world.guard(work),
    )
  }

  calm(): void {
    this.#isCalm = true
    this.#apart.clear()
    Object.assign(this.trouble, {
      delayMsMax: 1,
      lossChance: 0,
      answerLossChance: 0,
      lateChance: 0,
      isAway: false,
      strike: undefined,
    })
    this.clients.stop()
    for (const server of this.servers) {
      server.process.resume()
      server.start()
      this.setClock(server, 0)
      server.memory.share = 0
      server.checkMemory()
      server.opened?.leader.calm()
    }
    this.world.clock.after(CALM_MS, () => this.#restFollowers())
  }

  /** Stops polling of an idle log, which is most of the cost of a quiet hour. */
  #restFollowers(): void {
    for (const server of this.servers) {
      if (server.isLeading) continue
      for (const [nodeId, path] of this.#paths)
        if (path.includes(server)) this.world.network.cut(nodeId)
      server.process.pause()
    }
  }

  accept(nodeId: string): ((channel: ServerChannel) => void) | undefined {
    const able = this.servers.filter(
      ({ name, process }) =>
        !this.isApart(nodeId, name) && (this.#isCalm ? process.isRunning : !process.isDead),
    )
    const entry = this.#draws.pick(able)
    if (entry === undefined) return undefined
    return (channel) => entry.process.enter(() => this.#take(channel, { nodeId, path: [entry] }))
  }

  /** A node's connection has reached the last server of its route. */
  #take(channel: ServerChannel, { nodeId, path }: Dialled): void {
    const server = path.at(-1)
    const opened = server?.opened
    if (server === undefined || opened === undefined) return channel.close()
    const answerer = opened.gate.route(aRequest('GET', NODE_CHANNEL), NODE_CONSISTENCY)
    if (answerer === 'local' || answerer === 'linearizable') {
      this.#paths.set(nodeId, path)
      return opened.leader.accept(through(path, channel))
    }
    const next = this.serverAt(server.knownLeader)
    // Forwarded at most once.
    if (answerer === 'no-leader' || path.length > 1 || next === undefined) return channel.close()
    if (next.process.isDead || this.isApart(server.name, next.name)) return channel.close()
    next.process.enter(() => this.#take(channel, { nodeId, path: [server, next] }))
  }

  serverAt(address: string): SimServer | undefined {
    return this.servers.find((server) => server.address === address)
  }

  lengthAt(elapsedMs: number): number {
    return this.#lengths.findLast(({ atMs }) => atMs <= elapsedMs)?.index ?? 0
  }

  /** Invariant: at most one server claims to lead at any time. */
  checkClaims(): void {
    const claiming = this.servers.filter((server) => server.isLeading)
    if (claiming.length < 2) return
    const names = claiming.map(({ name }) => name).join(' and ')
    this.world.blame(new Violation('one leader at a time', names))
  }

  #appended(entries: readonly WrittenEntry[], by: Sender): void {
    const { world } = this
    for (const { term, text, index } of entries) {
      const writer = this.#writers.get(term) ?? by.name
      this.#writers.set(term, writer)
      if (writer !== by.name || term !== this.#database.term)
        world.blame(
          new Violation(
            'one writer for each term',
            `${by.name} wrote ${index} in term ${term} of ${writer}; the last is ${this.#database.term}`,
          ),
        )
      this.#texts[index] = text
      world.written(text)
    }
    this.#lengths.push({ atMs: world.clock.elapsedMs, index: this.#database.lastIndex })
    world.committed(entries.map(({ text }) => decodeCommit(unescapeText(text))))
    this.#ring('log')
    this.checkClaims()
  }

  #ring(rung: 'log' | 'lease'): void {
    for (const server of this.servers) server.ring(rung)
  }

  /** Invariant: a server publishes the entries of the log, completely and in order. */
  #checkRevealed(server: SimServer, commits: readonly Commit[]): void {
    for (const commit of commits) {
      const before = this.#told.get(server) ?? 0
      this.#told.set(server, commit.index)
      const isNext = commit.index === before + 1
      const isWritten = this.#texts[commit.index] === escapeText(encodeCommit(commit).join(''))
      if (isNext && isWritten) continue
      this.world.blame(
        new Violation(
          'every server tells the log',
          `${server.name} told of ${commit.index} after ${before}${isWritten ? '' : ', which the log has otherwise'}`,
        ),
      )
    }
  }

  /**
   * Periodic reactions outside of the servers: clients find the leader, servers close stale
   * connections.
   */
  #watch(): void {
    const { world } = this
    this.checkClaims()
    for (const [nodeId, path] of this.#paths) {
      const [entry, leader] = path
      // As the forwarder does after a change of leader.
      if (entry?.process.isRunning && leader !== undefined && entry.knownLeader !== leader.address)
        world.network.cut(nodeId)
    }
    const { leader } = this
    if (leader !== undefined && leader !== this.#readFrom) {
      this.#readFrom = leader
      world.reader.reopen(leader.hub, () => leader.store.log.firstIndex)
    }
    world.clock.after(WATCH_MS, () => this.#watch())
  }

  /** At the end all servers must have equal states, and client histories must be linearizable. */
  async judge(): Promise<void> {
    const { world } = this
    for (const server of this.servers) server.process.resume()
    await world.clock.advance(5_000, world.isOver)
    for (const server of this.servers)
      world.guard(() => {
        const store = server.opened?.leader.store
        if (store === undefined)
          throw new Violation('every server comes back', `${server.name} did not`)
        world.model.compare(store)
      })
    world.guard(() => this.clients.check())
  }
}

interface Dialled {
  readonly nodeId: string
  readonly path: readonly SimServer[]
}

/** A connection through servers, each of which must be running for messages to pass. */
function through(path: readonly SimServer[], channel: ServerChannel): ServerChannel {
  const processes = path.map(({ process }) => process)
  const pass = (work: () => void): void =>
    processes.reduceRight<() => void>((next, process) => () => process.enter(next), work)()
  return {
    send: (text) => {
      const [entry] = processes
      if (entry === undefined || processes.length === 1) channel.send(text)
      else entry.enter(() => channel.send(text))
    },
    onMessage: (receive) => channel.onMessage((text) => pass(() => receive(text))),
    onClose: (closed) => channel.onClose((reason) => pass(() => closed(reason))),
    ping: (pong) => channel.ping(() => pass(pong)),
    close: () => channel.close(),
  }
}
