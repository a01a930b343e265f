import {
  EvaluationBroker,
  DEFAULT_HEARTBEAT_MS,
  HeartbeatMonitor,
  StateView,
} from '../src/control/index.ts'
import { EXECUTION_DEFAULTS } from '../src/infrastructure/index.ts'
import { leaderLoops, type LeaderLoop } from '../src/main/leader-loops.ts'
import { parseJsonPrefix } from '../src/http/json-body.ts'
import { WorkerEngine } from '../src/judging/index.ts'
import { MemoryMonitor } from '../src/main/memory-watch.ts'
import { errorMessage, type Fault } from '@reeve/kit/fault.ts'
import { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import { Store, type Commit, type GcThresholds, type StorageEngine } from '../src/state/index.ts'
import {
  ensureBuiltIns,
  JobFileReader,
  createPlanGate,
  NO_POLICIES,
  JobPolicyEvaluator,
  type Sealer,
  type WorkloadContext,
} from '../src/workload/index.ts'
import {
  EventBroker,
  NodeChannelServer,
  NodeRpcClient,
  NodeSessions,
} from '../src/sessions/index.ts'
import { ChannelSocket, type ServerChannel } from './network.ts'
import { GrowthCheck, memoryUsageOf, type SimMemory } from './memory.ts'
import { Violation } from './trace.ts'

/** Short, so that garbage collection happens within a short simulation. */
const GARBAGE_COLLECTION_AGES: GcThresholds = {
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
const QUIET_HEARTBEAT_MS = 600_000
const QUIET_CONTACT_INTERVAL_MS = 10_000
const IN_FLIGHT_MS = 1_000

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
  readonly trace: (text: string) => void
  /** Called for every message to a node. */
  readonly onSent: (text: string) => void
  readonly reportViolation: (violation: Violation) => void
  /** A loop has encountered a programming error. */
  readonly onBug: (text: string) => void
}

export interface LeaderOptions extends LeaderParts {
  readonly engine: StorageEngine
  /** The clock of its process, which may die. */
  readonly clock: Clock & { kill(): void }
  readonly memory: SimMemory
  /** Called with every durable commit before anyone else sees it. */
  readonly onDurable: (commits: readonly Commit[]) => void
  readonly onStorageFailed: (fault: Fault) => void
  /** Another server leads: this one leads only after `lead` is called. */
  readonly follows?: boolean
}

/**
 * The server of a world: state, loops and use cases composed as in `main/server.ts`, without HTTP.
 */
export class SimLeader {
  readonly context: WorkloadContext
  readonly store: Store
  readonly hub: EventBroker
  readonly sessions: NodeSessions
  readonly #options: LeaderOptions
  readonly #channels: NodeChannelServer
  readonly #policyThread: WorkerEngine
  readonly #broker: EvaluationBroker
  #heartbeats: HeartbeatMonitor
  #loops: readonly LeaderLoop[] = []
  readonly #sockets = new Set<ChannelSocket>()
  readonly #memoryWatch: MemoryMonitor
  readonly #growth = new GrowthCheck()
  #shortages = 0
  #startCount = 0
  #isDead = false
  #areFaultsStopped = false

  static async open(options: LeaderOptions): Promise<SimLeader> {
    const { engine, clock, follows = false } = options
    const store = await Store.open({ engine, clock, freezeRows: true, isFollower: follows })
    return new SimLeader(options, store)
  }

  private constructor(options: LeaderOptions, store: Store) {
    const { clock, ids, random, onStorageFailed } = options
    this.#options = options
    store.log.subscribe((commits) => {
      this.#checkGrowth(commits)
      options.onDurable(commits)
    })
    this.store = store
    const policyAsker = new WorkerEngine({ clock, version: '' })
    this.#policyThread = policyAsker
    this.#broker = new EvaluationBroker({ store, clock })
    this.context = {
      store,
      view: new StateView(store),
      evaluations: this.#broker,
      log: this.#log(),
      capacity: new StateCapacity(),
      monotonicNs: () => 0,
      clock,
      ids,
      random,
      sealer: SEALER,
      jobFiles: new JobFileReader({ clock }),
      planGate: createPlanGate(clock),
      // Simulated worlds have no policies: the worker never starts.
      policyEngine: policyAsker,
      jobPolicies: new JobPolicyEvaluator({ source: NO_POLICIES, engine: policyAsker }),
      region: 'global',
      utcOffsetAt: () => 0,
      aclEnabled: false,
      // Hundreds of nodes may join at once from one address.
      nodeAdmission: { allowsSharedToken: true, newNodesPerMinuteMax: 0, newNodesPerAddressMax: 0 },
      joinToken: JOIN_TOKEN,
      readBootstrapReset: async () => undefined,
    }
    this.#memoryWatch = new MemoryMonitor({
      clock,
      capacity: this.context.capacity,
      log: this.#memoryLog(),
      read: () => memoryUsageOf(options.memory),
    })
    this.checkMemory()
    this.#heartbeats = this.#newHeartbeatMonitor()
    this.hub = new EventBroker(store.log, clock, store.durableIndex)
    this.sessions = new NodeSessions(store)
    const { sessions } = this
    this.#channels = new NodeChannelServer({
      context: this.context,
      sessions,
      requests: new NodeRpcClient({ sessions, clock, ids }),
      parseJson: parseJsonPrefix,
      clock,
      log: this.#log(),
      heartbeatMs: () => (this.#areFaultsStopped ? QUIET_HEARTBEAT_MS : DEFAULT_HEARTBEAT_MS),
      onNodeSeen: (nodeId) => this.#heartbeats.recordHeartbeat(nodeId),
    })
    store.onFault((fault) => {
      if (!this.#isDead) onStorageFailed(fault)
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
  get startCount(): number {
    return this.#startCount
  }

  /** Starts the loops. All subscribers are registered by now. */
  async start(): Promise<void> {
    this.#growth.startLeading(this.store.index)
    await ensureBuiltIns(this.context)
    this.#startLoops()
  }

  /** The memory watcher checks several times a second; here only when usage has changed. */
  checkMemory(): void {
    const { capacity } = this.context
    const wasShort = capacity.shortage !== undefined
    this.#memoryWatch.check()
    const isShort = capacity.shortage !== undefined
    if (wasShort && !isShort) this.#growth.endShortage(this.store.index)
    if (wasShort || !isShort) return
    const shortageNumber = ++this.#shortages
    // A registration accepted earlier may still place its allocations.
    this.#options.clock.after(IN_FLIGHT_MS, () => {
      if (capacity.shortage !== undefined && shortageNumber === this.#shortages)
        this.#growth.beginShortage(this.store.index)
    })
  }

  #checkGrowth(commits: readonly Commit[]): void {
    for (const commit of commits) {
      const placed = this.#growth.findPlaced(commit)
      if (placed !== undefined && !this.#isDead)
        this.#options.reportViolation(
          new Violation('nothing is placed while memory is low', `#${commit.index} ${placed}`),
        )
    }
  }

  #memoryLog() {
    const log = (fields: object, message: string): void =>
      this.#options.trace(`memory: ${message} ${JSON.stringify(fields)}`)
    return { info: log, warn: log, error: log }
  }

  /** A follower becomes leader, as in `main/server.ts`. */
  async lead(upTo: number): Promise<void> {
    await this.store.startLeading(upTo)
    await this.start()
    if (this.#areFaultsStopped) this.stopFaults()
  }

  onFault(listener: (fault: Fault) => void): void {
    this.store.onFault(listener)
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
    await this.#policyThread.stop()
    await this.store.close()
  }

  #newHeartbeatMonitor(): HeartbeatMonitor {
    const { clock, ids } = this.#options
    return new HeartbeatMonitor({ store: this.store, clock, ids, log: this.#log() })
  }

  #startLoops(): void {
    this.#startCount += 1
    this.#heartbeats = this.#newHeartbeatMonitor()
    this.#loops = leaderLoops({
      context: this.context,
      log: this.#log(),
      broker: this.#broker,
      presence: this.#heartbeats,
      audit: AUDIT,
      retention: RETENTION,
      ages: GARBAGE_COLLECTION_AGES,
      copiesGlobalTokens: false,
      execution: { settings: EXECUTION_DEFAULTS, address: () => '', authorities: '' },
    })
    for (const loop of this.#loops) loop.start()
  }

  /** Accepts the connection of a node. All nodes have one address. */
  accept(channel: ServerChannel): void {
    const isDead = (): boolean => this.#isDead
    const socket = new ChannelSocket({ channel, isDead, onSent: this.#options.onSent })
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    this.#channels.connect(socket, '')
    socket.open()
  }

  /**
   * Ends fault injection. Connected nodes then count as alive without heartbeat messages, which
   * makes a quiet hour cheap.
   */
  stopFaults(): void {
    this.#areFaultsStopped = true
    const touchConnected = (): void => {
      for (const id of this.store.tables.nodes.keys())
        if (this.sessions.isConnected(id)) this.#heartbeats.recordHeartbeat(id)
      this.#options.clock.after(QUIET_CONTACT_INTERVAL_MS, touchConnected)
    }
    touchConnected()
  }

  /** The process dies between two steps. */
  kill(): void {
    this.#isDead = true
    this.#options.clock.kill()
  }

  #log() {
    const { trace, onBug } = this.#options
    const line = (fields: object, message: string): string =>
      `${message} ${JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? value.stack : value))}`
    return {
      debug: () => undefined,
      info: (fields: object, message: string) => trace(`leader: ${line(fields, message)}`),
      warn: (fields: object, message: string) => trace(`leader: ${line(fields, message)}`),
      error: (fields: object, message: string) => {
        // A storage failure is an injected fault, not a bug.
        if (this.store.fault === undefined && !this.#isDead) onBug(line(fields, message))
        else trace(`leader: ${errorMessage(this.store.fault)} ${message}`)
      },
    }
  }
}
