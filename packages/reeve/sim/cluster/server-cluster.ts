import type { ReadConsistency } from '../../src/http/index.ts'
import { decodeCommit, encodeCommit } from '../../src/state/commit-codec.ts'
import type { Commit } from '../../src/state/index.ts'
import { escapeText, unescapeText } from '../../src/storage/text-escape.ts'
import type { RandomStream } from '../random-stream.ts'
import type { ServerChannel } from '../network.ts'
import { jumpWithDeadlines } from '../invariants/deadlines.ts'
import type { SimLeader } from '../sim-leader.ts'
import type { ServerFault, ServerBackend } from '../server-backend.ts'
import { Violation } from '../trace.ts'
import type { World } from '../world.ts'
import type { SimCluster } from './sim-cluster.ts'
import type { DatabaseConditions } from './database-link.ts'
import { clockFaults, clusterFaults } from './cluster-faults.ts'
import { RegisterClients } from './register-clients.ts'
import { SharedDatabase, type Sender, type WrittenEntry } from './shared-database.ts'
import { fakeRequest, SimServer } from './sim-server.ts'

const SERVER_NAMES = ['s1', 's2', 's3'] as const
const MAX_RESTART_DELAY_MS = 5_000
/** Maximum drift between the clocks of two machines. */
const MAX_CLOCK_DRIFT = 0.04
const MAX_WALL_SKEW_MS = 300
const WATCH_INTERVAL_MS = 250
/** Longer than a lease plus a start: the leader after this time stays leader. */
const STABLE_LEADER_MS = 20_000
const NODE_CHANNEL = '/v1/node/channel'
const NODE_CONSISTENCY: ReadConsistency = {
  answeredBy: 'leader',
  isRead: true,
  isStale: false,
  isConsistent: false,
}

/** Several servers that share one database. */
export class ServerCluster implements ServerBackend, SimCluster {
  readonly faults: readonly ServerFault[]
  readonly clockFaults: readonly ServerFault[]
  readonly servers: readonly SimServer[]
  readonly databaseConditions: DatabaseConditions = {
    delayMsMax: 3,
    lossChance: 0,
    responseLossChance: 0,
    lateChance: 0,
    isDown: false,
    interruptWrite: undefined,
  }
  readonly world: World
  readonly clients: RegisterClients
  readonly #database: SharedDatabase
  readonly #random: RandomStream
  /** Partitioned pairs: two servers, a server and a node, or a server and the database. */
  readonly #partitions = new Set<string>()
  readonly #clockSkews = new Map<string, { ms: number; readonly atFirstMs: number }>()
  /** All entries ever written, by index. */
  readonly #entryTexts: string[] = ['']
  readonly #writerByTerm = new Map<number, string>()
  /** The last commit that each server has published. */
  readonly #lastPublished = new Map<SimServer, number>()
  /** The servers through which a node's connection goes. */
  readonly #nodeRoutes = new Map<string, readonly SimServer[]>()
  /** Lengths of the log over time, to check how recent a follower claims to be. */
  readonly #logLengths: { readonly atMs: number; readonly index: number }[] = [
    { atMs: 0, index: 0 },
  ]
  #readerLeader: SimLeader | undefined
  #crashes = 0
  #areFaultsStopped = false

  constructor(world: World) {
    this.world = world
    this.#random = world.randomStream('cluster')
    this.#database = new SharedDatabase({
      nowMs: () => world.clock.nowMs,
      onAppended: (entries, by) => this.#onAppended(entries, by),
      onLeaseChanged: () => this.#notify('lease'),
    })
    this.servers = SERVER_NAMES.map((name) => this.#makeServer(name))
    this.faults = clusterFaults(this)
    this.clockFaults = clockFaults(this)
    this.clients = new RegisterClients(this)
  }

  #makeServer(name: string): SimServer {
    const { world } = this
    const random = world.randomStream(`server ${name}`)
    const initialMs = random.between(-MAX_WALL_SKEW_MS, MAX_WALL_SKEW_MS)
    const skew = { ms: initialMs, atFirstMs: initialMs }
    this.#clockSkews.set(name, skew)
    return new SimServer({
      name,
      virtualClock: world.clock,
      rate: 1 + (random.next() * 2 - 1) * MAX_CLOCK_DRIFT,
      skew,
      link: {
        database: this.#database,
        random: world.randomStream(`database link ${name}`),
        conditions: this.databaseConditions,
        isPartitioned: () => this.isPartitioned(name, 'database'),
      },
      leaderParts: world.leaderParts,
      areFaultsStopped: () => this.#areFaultsStopped,
      onOpened: (server, index) => this.#lastPublished.set(server, index),
      onPublished: (server, commits) => this.#checkPublished(server, commits),
      onExit: (server) => this.#scheduleStart(server),
    })
  }

  get leader(): SimLeader | undefined {
    return this.servers.find((server) => server.leading !== undefined)?.leading
  }

  get crashes(): number {
    return this.#crashes
  }

  async open(): Promise<void> {
    for (const server of this.servers) server.start()
    this.#checkPeriodically()
    this.clients.start()
  }

  /** Kills all servers and restarts them after a while. */
  async crash(reason: string): Promise<void> {
    for (const server of this.servers) this.kill(server, reason)
  }

  kill(server: SimServer, reason: string): void {
    if (server.process.isDead) return
    this.#crashes += 1
    this.world.trace.log(`${server.name} dies: ${reason}`)
    server.kill()
    this.#onServerExit(server)
  }

  stop(server: SimServer): void {
    if (!server.process.isRunning) return
    this.world.trace.log(`${server.name} stops gracefully`)
    void server.stop().then(() => this.#onServerExit(server))
  }

  #onServerExit(server: SimServer): void {
    for (const [nodeId, path] of this.#nodeRoutes)
      if (path.includes(server)) this.world.network.dropConnections(nodeId)
    this.#scheduleStart(server)
  }

  #scheduleStart(server: SimServer): void {
    this.world.clock.after(this.#random.between(0, MAX_RESTART_DELAY_MS), () => server.start())
  }

  partition(a: string, b: string): void {
    this.#partitions.add([a, b].toSorted().join(' '))
    for (const [nodeId, path] of this.#nodeRoutes)
      if (path.some(({ name }) => this.isPartitioned(nodeId, name)))
        this.world.network.dropConnections(nodeId)
  }

  heal(a: string, b: string): void {
    this.#partitions.delete([a, b].toSorted().join(' '))
  }

  isPartitioned(a: string, b: string): boolean {
    return this.#partitions.has([a, b].toSorted().join(' '))
  }

  get areFaultsStopped(): boolean {
    return this.#areFaultsStopped
  }

  setClock(server: SimServer, aheadMs: number): void {
    const skew = this.#clockSkews.get(server.name)
    if (skew === undefined) return
    jumpWithDeadlines(
      server.leading,
      () => {
        skew.ms = skew.atFirstMs + aheadMs
      },
      (work) => this.world.catchViolation(work),
    )
  }

  stopFaults(): void {
    this.#areFaultsStopped = true
    this.#partitions.clear()
    Object.assign(this.databaseConditions, {
      delayMsMax: 1,
      lossChance: 0,
      responseLossChance: 0,
      lateChance: 0,
      isDown: false,
      interruptWrite: undefined,
    })
    this.clients.stop()
    for (const server of this.servers) {
      server.process.resume()
      server.start()
      this.setClock(server, 0)
      server.memory.share = 0
      server.checkMemory()
      server.openServer?.leader.stopFaults()
    }
    this.world.clock.after(STABLE_LEADER_MS, () => this.#pauseFollowers())
  }

  /** Stops polling of an idle log, which is most of the cost of a quiet hour. */
  #pauseFollowers(): void {
    for (const server of this.servers) {
      if (server.isLeading) continue
      for (const [nodeId, path] of this.#nodeRoutes)
        if (path.includes(server)) this.world.network.dropConnections(nodeId)
      server.process.pause()
    }
  }

  accept(nodeId: string): ((channel: ServerChannel) => void) | undefined {
    const reachable = this.servers.filter(
      ({ name, process }) =>
        !this.isPartitioned(nodeId, name) &&
        (this.#areFaultsStopped ? process.isRunning : !process.isDead),
    )
    const entry = this.#random.pick(reachable)
    if (entry === undefined) return undefined
    return (channel) =>
      entry.process.deliver(() => this.#routeConnection(channel, { nodeId, path: [entry] }))
  }

  /** A node's connection has reached the last server of its route. */
  #routeConnection(channel: ServerChannel, { nodeId, path }: RoutedConnection): void {
    const server = path.at(-1)
    const opened = server?.openServer
    if (server === undefined || opened === undefined) return channel.close()
    const route = opened.gate.route(fakeRequest('GET', NODE_CHANNEL), NODE_CONSISTENCY)
    if (route === 'local' || route === 'linearizable') {
      this.#nodeRoutes.set(nodeId, path)
      return opened.leader.accept(routedChannel(path, channel))
    }
    const next = this.serverAt(server.knownLeader)
    // Forwarded at most once.
    if (route === 'no-leader' || path.length > 1 || next === undefined) return channel.close()
    if (next.process.isDead || this.isPartitioned(server.name, next.name)) return channel.close()
    next.process.deliver(() => this.#routeConnection(channel, { nodeId, path: [server, next] }))
  }

  serverAt(address: string): SimServer | undefined {
    return this.servers.find((server) => server.address === address)
  }

  logLengthAt(elapsedMs: number): number {
    return this.#logLengths.findLast(({ atMs }) => atMs <= elapsedMs)?.index ?? 0
  }

  /** Invariant: at most one server claims to lead at any time. */
  checkSingleLeader(): void {
    const leaders = this.servers.filter((server) => server.isLeading)
    if (leaders.length < 2) return
    const names = leaders.map(({ name }) => name).join(' and ')
    this.world.reportViolation(new Violation('one leader at a time', names))
  }

  #onAppended(entries: readonly WrittenEntry[], by: Sender): void {
    const { world } = this
    for (const { term, text, index } of entries) {
      const writer = this.#writerByTerm.get(term) ?? by.name
      this.#writerByTerm.set(term, writer)
      if (writer !== by.name || term !== this.#database.term)
        world.reportViolation(
          new Violation(
            'one writer for each term',
            `${by.name} wrote ${index} in term ${term} of ${writer}; the last is ${this.#database.term}`,
          ),
        )
      this.#entryTexts[index] = text
      world.onWritten(text)
    }
    this.#logLengths.push({ atMs: world.clock.elapsedMs, index: this.#database.lastIndex })
    world.onCommitted(entries.map(({ text }) => decodeCommit(unescapeText(text))))
    this.#notify('log')
    this.checkSingleLeader()
  }

  #notify(change: 'log' | 'lease'): void {
    for (const server of this.servers) server.notify(change)
  }

  /** Invariant: a server publishes the entries of the log, completely and in order. */
  #checkPublished(server: SimServer, commits: readonly Commit[]): void {
    for (const commit of commits) {
      const previous = this.#lastPublished.get(server) ?? 0
      this.#lastPublished.set(server, commit.index)
      const isNext = commit.index === previous + 1
      const isWritten = this.#entryTexts[commit.index] === escapeText(encodeCommit(commit).join(''))
      if (isNext && isWritten) continue
      this.world.reportViolation(
        new Violation(
          'every server publishes the log',
          `${server.name} published ${commit.index} after ${previous}${isWritten ? '' : ', which differs from the log'}`,
        ),
      )
    }
  }

  /**
   * Periodic reactions outside of the servers: clients find the leader, servers close stale
   * connections.
   */
  #checkPeriodically(): void {
    const { world } = this
    this.checkSingleLeader()
    for (const [nodeId, path] of this.#nodeRoutes) {
      const [entry, leader] = path
      // As the forwarder does after a change of leader.
      if (entry?.process.isRunning && leader !== undefined && entry.knownLeader !== leader.address)
        world.network.dropConnections(nodeId)
    }
    const { leader } = this
    if (leader !== undefined && leader !== this.#readerLeader) {
      this.#readerLeader = leader
      world.reader.reopen(leader.hub, () => leader.store.log.firstIndex)
    }
    world.clock.after(WATCH_INTERVAL_MS, () => this.#checkPeriodically())
  }

  /** At the end all servers must have equal states, and client histories must be linearizable. */
  async finalCheck(): Promise<void> {
    const { world } = this
    for (const server of this.servers) server.process.resume()
    await world.clock.advance(5_000, world.hasFailed)
    for (const server of this.servers)
      world.catchViolation(() => {
        const store = server.openServer?.leader.store
        if (store === undefined)
          throw new Violation('every server recovers', `${server.name} did not`)
        world.expectedState.compare(store)
      })
    world.catchViolation(() => this.clients.check())
  }
}

interface RoutedConnection {
  readonly nodeId: string
  readonly path: readonly SimServer[]
}

/** A connection through servers, each of which must be running for messages to pass. */
function routedChannel(path: readonly SimServer[], channel: ServerChannel): ServerChannel {
  const processes = path.map(({ process }) => process)
  const runThrough = (work: () => void): void =>
    processes.reduceRight<() => void>((next, process) => () => process.deliver(next), work)()
  return {
    send: (text) => {
      const [entry] = processes
      if (entry === undefined || processes.length === 1) channel.send(text)
      else entry.deliver(() => channel.send(text))
    },
    onMessage: (receive) => channel.onMessage((text) => runThrough(() => receive(text))),
    onClose: (closed) => channel.onClose((reason) => runThrough(() => closed(reason))),
    ping: (pong) => channel.ping(() => runThrough(pong)),
    close: () => channel.close(),
  }
}
