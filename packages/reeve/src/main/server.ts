import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aliasesOf } from '../compat/index.ts'
import { EvaluationBroker, HeartbeatMonitor, StateView } from '../control/index.ts'
import type { WebhookSender } from '../governance/index.ts'
import { createApp, snapshotChunks, type App } from '../http/index.ts'
import { createPolicyWorkers, type PolicyWorkers } from '../judging/index.ts'
import { EXECUTION_DEFAULTS, type ExecutionSettings } from '../infrastructure/index.ts'
import type { Fault } from '@reeve/kit/fault.ts'
import { Store, type StorageEngine } from '../state/index.ts'
import {
  assertClusterLevel,
  Authenticator,
  ensureBuiltIns,
  JobFileReader,
  createPlanGate,
  JobPolicyEvaluator,
  type WorkloadContext,
} from '../workload/index.ts'
import { EventBroker, NodeSessions } from '../sessions/index.ts'
import type { AgentInfo, LeaderRouter, SnapshotRestorer } from '../http/index.ts'
import type { TlsCredentials } from '../tls/index.ts'
import { BackupLoop } from './backup/backup-loop.ts'
import { openTarget } from './backup/backup-target.ts'
import { verifyBackup } from './backup/verify-backup.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { logCommits, type Logger } from './log.ts'
import { FreeSpaceMonitor } from './host-watch.ts'
import { leaderLoops, type LeaderLoop } from './leader-loops.ts'
import { warnAboutUnreadableSecrets, warnAboutRotatedJoinToken } from './startup-warnings.ts'
import { CommitDelayMonitor, serverMetrics } from './server-metrics.ts'
import { createFullCollection, MemoryMonitor } from './memory-watch.ts'
import { createPolicySource } from './policy-source.ts'
import { httpTlsOptions } from './tls-wiring.ts'
import { installation } from './installation.ts'
import { createSnapshotRestorer } from './restore-online.ts'
import { createSealer, type ServerSecrets } from './secrets.ts'
import { RegionServices } from './server-regions.ts'
import type { StorageRestriction } from './server-storage.ts'
import { systemClock, systemIds, systemRandom } from './system.ts'
import type { Tracing } from './tracing/tracing.ts'
import { createWebhookSender } from './webhook-sender.ts'
import { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'

export interface ServerOptions {
  readonly config: AgentConfig
  readonly log: Logger
  readonly engine: StorageEngine
  readonly secrets: ServerSecrets
  readonly version: string
  /** The status of the agent. It is created after the server, so it is read late. */
  readonly agent: AgentInfo
  /** Whether the server starts as a follower. It runs no loops before `lead` is called. */
  readonly follows?: boolean
  /** Routes requests to the leader of a cluster. */
  readonly leader?: LeaderRouter
  /** Undefined without TLS. */
  readonly tls?: TlsCredentials | undefined
  /** Undefined without tracing. */
  readonly tracing?: Tracing | undefined
  /** Set if the disk rejects writes: requests are answered, but no loops run before `resume`. */
  readonly shortage?: StorageRestriction | undefined
}

/** A server: state, loops and HTTP. Call `listen` to accept requests. */
export class Server {
  readonly context: WorkloadContext
  readonly store: Store
  readonly app: App
  /** Undefined without other regions. */
  readonly regions: RegionServices | undefined
  /** Undefined if no backups are configured. */
  readonly backups: BackupLoop | undefined
  readonly #options: ServerOptions
  readonly #policyThreads: PolicyWorkers
  readonly #webhooks: WebhookSender
  /** The address for runners on nodes; set by `listen`. */
  #address = ''
  readonly #broker: EvaluationBroker
  /** Loops of the leader; empty on a follower. */
  #loops: readonly LeaderLoop[] = []
  #isStopping = false
  #heartbeatMonitor: HeartbeatMonitor
  readonly #memory: MemoryMonitor
  readonly #commits: CommitDelayMonitor
  /** Undefined if the state is in a database. */
  readonly #freeSpace: FreeSpaceMonitor | undefined

  static async open(options: ServerOptions): Promise<Server> {
    const { engine, follows = false, shortage, tracing } = options
    const onCommit = tracing?.onCommit
    const store = await Store.open({
      engine,
      clock: systemClock,
      isFollower: follows,
      scheduleFlush: afterEventLoopTurn,
      onCommit,
    })
    assertClusterLevel(store, options.version)
    const policyAsker = createPolicyWorkers({ clock: systemClock, version: options.version })
    const regions = RegionServices.open(options.config, options.tls)
    const broker = new EvaluationBroker({ store, clock: systemClock })
    const context = createContext(options, { store, policyThreads: policyAsker, regions, broker })
    if (shortage !== undefined) restrictStore(store, shortage)
    else if (!follows) await ensureBuiltIns(context, options.version)
    return new Server(options, { context, policyThreads: policyAsker, regions, broker })
  }

  private constructor(
    options: ServerOptions,
    { context, policyThreads, regions, broker }: ServerParts,
  ) {
    this.#policyThreads = policyThreads
    this.#broker = broker
    const { store } = context
    const { config, log } = options
    this.#options = options
    this.#webhooks = newWebhookSender(options)
    this.context = context
    this.store = store
    this.regions = regions
    this.backups = createBackups(context, options)
    this.#heartbeatMonitor = this.#createHeartbeatMonitor()
    this.#memory = new MemoryMonitor({
      clock: systemClock,
      log,
      capacity: context.capacity,
      collect: createFullCollection(),
    })
    this.#memory.start()
    this.#commits = new CommitDelayMonitor({ clock: systemClock, log, store })
    this.#commits.start()
    this.#freeSpace = createFreeSpaceMonitor(config)
    void this.#freeSpace?.start()
    const isDebugging = config.log.level === 'debug'
    this.app = createApp({
      context,
      authenticator: new Authenticator(context),
      hub: new EventBroker(store.log, systemClock, store.durableIndex),
      sessions: new NodeSessions(store, setImmediate, options.tracing?.tracer),
      random: systemRandom,
      agent: options.agent,
      log,
      version: options.version,
      aliases: aliasesOf(config.compatibility),
      webhooks: this.#webhooks,
      restoreSnapshot: this.#createRestorer(),
      webFolder: installation.web,
      docsFolder: installation.docs,
      corsOrigins: config.http.corsOrigins,
      responseHeaders: config.http.responseHeaders,
      usesPlainHttp: config.http.isPlain,
      requestsPerSecond: config.http.requestsPerSecondMax,
      externalUrl: config.http.externalUrl,
      limits: config.limits,
      heartbeatMs: () => this.#heartbeatMonitor.heartbeatIntervalMs,
      onNodeSeen: (nodeId) => this.#heartbeatMonitor.recordHeartbeat(nodeId),
      ...(options.leader !== undefined && { leader: options.leader }),
      ...(options.tls !== undefined && { security: httpTlsOptions(options.tls) }),
      ...(this.regions !== undefined && { regions: this.regions.gate }),
      metrics: {
        ...serverMetrics({
          replication: this.regions?.replication,
          memory: this.#memory,
          backups: this.backups,
          commits: store,
          certificate: options.tls,
          disk: this.#freeSpace,
        }),
        ...options.tracing?.metrics,
      },
      ...(isDebugging && { onCompleted: (answered) => log.debug(answered, 'answered') }),
    })
    if (isDebugging) logCommits(store, log)
  }

  #createHeartbeatMonitor(): HeartbeatMonitor {
    const { config, log } = this.#options
    return new HeartbeatMonitor({ ...this.context, log, settings: config.server.presence })
  }

  /**
   * Creates the loops from the state alone, so that a new leader continues where the previous one
   * stopped.
   */
  #startLoops(): void {
    const { context } = this
    const { config, log } = this.#options
    warnAboutUnreadableSecrets(context, log)
    warnAboutRotatedJoinToken(context, log)
    this.#heartbeatMonitor = this.#createHeartbeatMonitor()
    this.#loops = [
      ...leaderLoops({
        context,
        log,
        broker: this.#broker,
        presence: this.#heartbeatMonitor,
        audit: config.audit,
        retention: config.eventLog,
        copiesGlobalTokens: this.regions?.replication !== undefined,
        notifier: { webhooks: this.#webhooks, address: () => config.http.externalUrl },
        execution: {
          settings: runExecutionSettings(config),
          address: () => this.#address,
          authorities: this.#options.tls?.authorities ?? '',
        },
      }),
      ...(this.regions?.loops(context, log) ?? []),
      ...(this.backups === undefined ? [] : [this.backups]),
    ]
    for (const loop of this.#loops) loop.start()
  }

  /**
   * Makes a follower the leader. The log has been read to its end; `upTo` is the index of its
   * checkpoint.
   */
  async lead(upTo: number): Promise<void> {
    await this.store.startLeading(upTo)
    await ensureBuiltIns(this.context, this.#options.version)
    this.#startLoops()
  }

  /** Why writes are rejected or only deletes accepted; undefined while all writes are accepted. */
  get fault(): Fault | undefined {
    return this.store.fault ?? this.store.restriction
  }

  /** Describes how long commits have been waiting for the storage; undefined without a delay. */
  get commitDelay(): string | undefined {
    return this.#commits.delay
  }

  /** Calls the listener when the storage has failed and rejects all writes. */
  onFault(tell: (fault: Fault) => void): void {
    this.store.onFault(tell)
  }

  /**
   * Accepts requests, and starts the loops unless the server is a follower. Returns the address
   * with the bound port.
   */
  async listen(host: string, port: number): Promise<string> {
    const address = await this.app.app.listen({ host, port })
    this.#address = runnerAddress(this.#options.config, address)
    const { follows, shortage } = this.#options
    if (follows !== true && shortage === undefined) this.#startLoops()
    return address
  }

  /** Stops the loops; requests are still answered. */
  async pause(): Promise<void> {
    const loops = this.#loops
    this.#loops = []
    await Promise.all(loops.map(async (loop) => await loop.stop()))
  }

  /** Restarts the loops from the current state. */
  resume(): void {
    if (this.#loops.length === 0) this.#startLoops()
  }

  #createRestorer(): SnapshotRestorer {
    const { log, version } = this.#options
    const whilePaused = <T>(work: () => Promise<T>): Promise<T> => this.#runPaused(work)
    return createSnapshotRestorer({ context: this.context, log, version, whilePaused })
  }

  /** Runs work without loops, which then start from the current state. */
  async #runPaused<T>(work: () => Promise<T>): Promise<T> {
    const isDeciding = this.#loops.length > 0
    await this.pause()
    try {
      return await work()
    } finally {
      // After a fault, recovery starts the loops.
      if (isDeciding && !this.#isStopping && this.store.fault === undefined) this.resume()
    }
  }

  /**
   * Stops the loops first, so that nodes are not declared lost when their connections close. The
   * storage is closed last, because requests need an open store.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#memory.stop()
    this.#commits.stop()
    this.#freeSpace?.stop()
    const deciding = this.#loops.map(async (loop) => await loop.stop())
    await Promise.all([...deciding, this.#stopAnswering()])
    await this.store.close()
  }

  async #stopAnswering(): Promise<void> {
    this.regions?.close()
    await this.app.close()
    await this.context.jobFiles.stop()
    await this.#policyThreads.stop()
  }
}

function newWebhookSender({ config, version }: ServerOptions): WebhookSender {
  const { notificationHeaders: otherHeaders } = aliasesOf(config.compatibility).governance
  return createWebhookSender({ allowsLocal: config.dev, version, otherHeaders })
}

function createFreeSpaceMonitor({
  server,
  dataDirectory: path,
}: AgentConfig): FreeSpaceMonitor | undefined {
  return server.database === undefined
    ? new FreeSpaceMonitor({ path, clock: systemClock })
    : undefined
}

function restrictStore(store: Store, { fault, acceptedWrites }: StorageRestriction): void {
  store.abortPending(fault)
  if (acceptedWrites === 'deletes') store.resume('deletes')
}

function createBackups(
  context: WorkloadContext,
  { config, log }: ServerOptions,
): BackupLoop | undefined {
  const { intervalMs, keep } = config.backup
  const target = openTarget(config.backup, join(config.dataDirectory, 'server'))
  if (target === undefined || intervalMs === undefined) return undefined
  const snapshot = (): AsyncIterable<Uint8Array> => snapshotChunks(context)
  const shared = { target, intervalMs, keepCount: keep, clock: systemClock, log }
  return new BackupLoop({ ...shared, snapshot, verify: verifyBackup })
}

/** Isolation is required by default; `--dev` allows execution without it. */
function runExecutionSettings({ dev, infrastructure }: AgentConfig): ExecutionSettings {
  const driver = dev ? 'raw_exec' : EXECUTION_DEFAULTS.driver
  return { ...EXECUTION_DEFAULTS, ...infrastructure, driver }
}

/** The advertised host with the bound port. */
function runnerAddress({ advertise, bind }: AgentConfig, address: string): string {
  const url = new URL(address)
  const isAny = bind === '0.0.0.0' || bind === '::'
  if (isAny) url.hostname = advertise.host
  if (advertise.httpPort !== undefined) url.port = String(advertise.httpPort)
  return url.origin
}

interface ServerParts {
  readonly context: WorkloadContext
  readonly policyThreads: PolicyWorkers
  readonly regions: RegionServices | undefined
  readonly broker: EvaluationBroker
}

/** File in which the operator writes the reset index. */
const BOOTSTRAP_RESET_FILE = 'acl-bootstrap-reset'

function createContext(
  { config, secrets, log, tracing }: ServerOptions,
  {
    store,
    policyThreads,
    regions,
    broker,
  }: Omit<ServerParts, 'context'> & { readonly store: Store },
): WorkloadContext {
  const sealer = createSealer(secrets)
  return {
    store,
    view: new StateView(store),
    evaluations: broker,
    log,
    tracer: tracing?.tracer,
    capacity: new StateCapacity(),
    clock: systemClock,
    ids: systemIds,
    random: systemRandom,
    sealer,
    policyEngine: policyThreads,
    jobPolicies: new JobPolicyEvaluator({
      source: createPolicySource({ store, sealer }),
      engine: policyThreads,
    }),
    jobFiles: new JobFileReader({
      clock: systemClock,
      aliases: aliasesOf(config.compatibility).jobFile,
    }),
    planGate: createPlanGate(systemClock),
    region: config.region,
    ...(regions !== undefined && { regions: regions.others }),
    utcOffsetAt: createTimeZoneOffset(),
    aclEnabled: config.acl.enabled,
    ruleAliases: aliasesOf(config.compatibility).rules,
    joinToken: secrets.joinToken,
    nodeAdmission: config.server.admission,
    readBootstrapReset: () => readIfExists(join(config.dataDirectory, BOOTSTRAP_RESET_FILE)),
  }
}

async function readIfExists(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
}

/** Schedules work at the end of the turn, so that simultaneous requests share a commit. */
function afterEventLoopTurn(work: () => void): void {
  setImmediate(work)
}
