import { EvaluationBroker, HEARTBEAT_MS, Presence, StateView } from '../src/control/index.ts'
import { EXECUTION_DEFAULTS } from '../src/infrastructure/index.ts'
import { leaderLoops, type LeaderLoop } from '../src/main/leader-loops.ts'
import { NodeChannelServer } from '../src/http/agent/node-channel.ts'
import { PolicyThread } from '../src/judging/index.ts'
import { MemoryWatch } from '../src/main/memory-watch.ts'
import { errorMessage, type Fault } from '@reeve/kit/fault.ts'
import { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import { Store, type Commit, type GarbageAges, type StorageEngine } from '../src/state/index.ts'
import {
  ensureBuiltIns,
  EventHub,
  JobFileReader,
  createPlanGate,
  NO_POLICIES,
  NodeRequests,
  NodeSessions,
  PolicyGuard,
  type Sealer,
  type WorkloadContext,
} from '../src/workload/index.ts'
import { ChannelSocket, type ServerChannel } from './channel-socket.ts'
import { GrowthCheck, memoryUse, type SimMemory } from './memory.ts'
import { Violation } from './trace.ts'

/** Short, so that garbage collection happens within a short simulation. */
const AGES: GarbageAges = {
  evaluationMs: 60_000,
  batchEvaluationMs: 90_000,
  jobMs: 120_000,
  deploymentMs: 60_000,
  nodeMs: 180_000,
}
/** Less than a world writes, so that late readers see a gap. */
const RETENTION = { ageMsMax: 120_000, commitsMax: 400 } as const
/** Worlds have no audit records: the loop finds nothing to remove. */
const AUDIT = { ageMsMax: 600_000, recordsMax: 100 } as const
/** Heartbeat interval once faults have ended. */
const CALM_HEARTBEAT_MS = 600_000
const CALM_SEEN_MS = 10_000
const UNDER_WAY_MS = 1_000

export const JOIN_TOKEN = 'join'

const SEALER: Sealer = {
  hash: (secret) => `hash of ${secret}`,
  seal: (secret) => secret,
  open: (sealed) => sealed,
  sealBytes: (bytes) => bytes,
  openBytes: (sealed) => sealed,
}

/** Options that all leaders of a world share. */
export interface LeaderParts {
  readonly ids: IdSource
  readonly random: Random
  readonly say: (text: string) => void
  /** Called for every message to a node. */
  readonly sent: (text: string) => void
  readonly blame: (violation: Violation) => void
  /** A loop has encountered a programming error. */
  readonly mistake: (text: string) => void
}

export interface LeaderOptions extends LeaderParts {
  readonly engine: StorageEngine
  /** The clock of its process, which may die. */
  readonly clock: Clock & { die(): void }
  readonly memory: SimMemory
  /** Called with every durable commit before anyone else sees it. */
  readonly revealed: (commits: readonly Commit[]) => void
  readonly failed: (fault: Fault) => void
  /** Another server leads: this one leads only after `lead` is called. */
  readonly follows?: boolean
}

/**
 * The server of a world: state, loops and use cases composed as in `main/server.ts`, without HTTP.
 */
export class Leader {
  readonly context: WorkloadContext
  readonly store: Store
  readonly hub: EventHub
  readonly sessions: NodeSessions
  readonly #options: LeaderOptions
  readonly #channels: NodeChannelServer
  readonly #policyAsker: PolicyThread
  readonly #broker: EvaluationBroker
  #presence: Presence
  #loops: readonly LeaderLoop[] = []
  readonly #sockets = new Set<ChannelSocket>()
  readonly #memoryWatch: MemoryWatch
  readonly #growth = new GrowthCheck()
  #shortages = 0
  #starts = 0
  #isDead = false
  #isCalm = false

  static async open(options: LeaderOptions): Promise<Leader> {
    const { engine, clock, follows = false } = options
    const store = await Store.open({ engine, clock, freezeRows: true, follows })
    return new Leader(options, store)
  }

  private constructor(options: LeaderOptions, store: Store) {
    const { clock, ids, random, failed } = options
    this.#options = options
    store.log.subscribe((commits) => {
      this.#checkGrowth(commits)
      options.revealed(commits)
    })
    this.store = store
    const policyAsker = new PolicyThread({ clock, version: '' })
    this.#policyAsker = policyAsker
    this.#broker = new EvaluationBroker({ store, clock })
    this.context = {
      store,
      view: new StateView(store),
      evaluations: this.#broker,
      log: this.#log(),
      capacity: new StateCapacity(),
      elapsedNs: () => 0,
      clock,
      ids,
      random,
      sealer: SEALER,
      jobFiles: new JobFileReader({ clock }),
      planGate: createPlanGate(clock),
      // Simulated worlds have no policies: the worker never starts.
      policyAsker,
      guard: new PolicyGuard({ source: NO_POLICIES, asker: policyAsker }),
      region: 'global',
      offsetAt: () => 0,
      aclEnabled: false,
      // Hundreds of nodes may join at once from one address.
      nodeAdmission: { allowsSharedToken: true, newNodesPerMinuteMax: 0, newNodesPerAddressMax: 0 },
      joinToken: JOIN_TOKEN,
      readBootstrapReset: async () => undefined,
    }
    this.#memoryWatch = new MemoryWatch({
      clock,
      capacity: this.context.capacity,
      log: this.#memoryLog(),
      read: () => memoryUse(options.memory),
    })
    this.checkMemory()
    this.#presence = this.#newPresence()
    this.hub = new EventHub(store.log, clock, store.durableIndex)
    this.sessions = new NodeSessions(store)
    const { sessions } = this
    this.#channels = new NodeChannelServer({
      context: this.context,
      sessions,
      requests: new NodeRequests({ sessions, clock, ids }),
      clock,
      log: this.#log(),
      heartbeatMs: () => (this.#isCalm ? CALM_HEARTBEAT_MS : HEARTBEAT_MS),
      seen: (nodeId) => this.#presence.seen(nodeId),
    })
    store.onFault((fault) => {
      if (!this.#isDead) failed(fault)
    })
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** Whether its loops run and its storage works. */
  get isWorking(): boolean {
    return !this.#isDead && this.#loops.length > 0 && this.store.fault === undefined
  }

  /** How often its loops were started. */
  get starts(): number {
    return this.#starts
  }

  /** Starts the loops. All subscribers are registered by now. */
  async start(): Promise<void> {
    this.#growth.leads(this.store.index)
    await ensureBuiltIns(this.context)
    this.#startLoops()
  }

  /** The memory watcher checks several times a second; here only when usage has changed. */
  checkMemory(): void {
    const { capacity } = this.context
    const wasShort = capacity.shortage !== undefined
    this.#memoryWatch.check()
    const isShort = capacity.shortage !== undefined
    if (wasShort && !isShort) this.#growth.end(this.store.index)
    if (wasShort || !isShort) return
    const shortage = ++this.#shortages
    // A registration accepted earlier may still place its allocations.
    this.#options.clock.after(UNDER_WAY_MS, () => {
      if (capacity.shortage !== undefined && shortage === this.#shortages)
        this.#growth.begin(this.store.index)
    })
  }

  #checkGrowth(commits: readonly Commit[]): void {
    for (const commit of commits) {
      const placed = this.#growth.findPlaced(commit)
      if (placed !== undefined && !this.#isDead)
        this.#options.blame(
          new Violation('nothing is placed while memory is short', `#${commit.index} ${placed}`),
        )
    }
  }

  #memoryLog() {
    const say = (fields: object, message: string): void =>
      this.#options.say(`memory: ${message} ${JSON.stringify(fields)}`)
    return { info: say, warn: say, error: say }
  }

  /** A follower becomes leader, as in `main/server.ts`. */
  async lead(upTo: number): Promise<void> {
    await this.store.lead(upTo)
    await this.start()
    if (this.#isCalm) this.calm()
  }

  onFault(tell: (fault: Fault) => void): void {
    this.store.onFault(tell)
  }

  /** As in `main/server.ts` while the storage accepts no commits. */
  async pause(): Promise<void> {
    const loops = this.#loops
    this.#loops = []
    for (const loop of loops) await loop.stop()
  }

  resume(): void {
    this.#startLoops()
  }

  /** Stops gracefully: requests first, then the loops, then the storage. */
  async stop(): Promise<void> {
    this.#isDead = true
    for (const socket of this.#sockets) socket.terminate()
    this.#channels.close()
    await this.context.jobFiles.stop()
    for (const loop of this.#loops) await loop.stop()
    await this.#policyAsker.stop()
    await this.store.close()
  }

  #newPresence(): Presence {
    const { clock, ids } = this.#options
    return new Presence({ store: this.store, clock, ids, log: this.#log() })
  }

  #startLoops(): void {
    this.#starts += 1
    this.#presence = this.#newPresence()
    this.#loops = leaderLoops({
      context: this.context,
      log: this.#log(),
      broker: this.#broker,
      presence: this.#presence,
      audit: AUDIT,
      retention: RETENTION,
      ages: AGES,
      copiesGlobalTokens: false,
      execution: { settings: EXECUTION_DEFAULTS, address: () => '', authorities: '' },
    })
    for (const loop of this.#loops) loop.start()
  }

  /** Accepts the connection of a node. All nodes have one address. */
  accept(channel: ServerChannel): void {
    const isDead = (): boolean => this.#isDead
    const socket = new ChannelSocket({ channel, isDead, sent: this.#options.sent })
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    this.#channels.connect(socket, '')
    socket.open()
  }

  /**
   * Ends fault injection. Connected nodes then count as alive without heartbeat messages, which
   * makes a quiet hour cheap.
   */
  calm(): void {
    this.#isCalm = true
    const again = (): void => {
      for (const id of this.store.tables.nodes.keys())
        if (this.sessions.isConnected(id)) this.#presence.seen(id)
      this.#options.clock.after(CALM_SEEN_MS, again)
    }
    again()
  }

  /** The process dies between two steps. */
  die(): void {
    this.#isDead = true
    this.#options.clock.die()
  }

  #log() {
    const { say, mistake } = this.#options
    const line = (fields: object, message: string): string =>
      `${message} ${JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? value.stack : value))}`
    return {
      debug: () => undefined,
      info: (fields: object, message: string) => say(`leader: ${line(fields, message)}`),
      warn: (fields: object, message: string) => say(`leader: ${line(fields, message)}`),
      error: (fields: object, message: string) => {
        // A storage failure is an injected fault, not a bug.
        if (this.store.fault === undefined && !this.#isDead) mistake(line(fields, message))
        else say(`leader: ${errorMessage(this.store.fault)} ${message}`)
      },
    }
  }
}
