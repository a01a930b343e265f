import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aliasesOf } from '../compat/index.ts'
import { EvaluationBroker, Presence, StateView } from '../control/index.ts'
import type { WebhookSender } from '../governance/index.ts'
import { createApp, snapshotChunks, type App } from '../http/index.ts'
import { openPolicyThreads, type PolicyThreads } from '../judging/index.ts'
import { EXECUTION_DEFAULTS, type ExecutionSettings } from '../infrastructure/index.ts'
import type { Fault } from '@reeve/kit/fault.ts'
import { Store, type StorageEngine } from '../state/index.ts'
import {
  assertClusterLevel,
  Authenticator,
  ensureBuiltIns,
  EventHub,
  JobFileReader,
  createPlanGate,
  NodeSessions,
  PolicyGuard,
  type WorkloadContext,
} from '../workload/index.ts'
import type { AgentInfo, LeaderRouter } from '../http/index.ts'
import type { Tls } from '../tls/index.ts'
import { BackupLoop } from './backup/backup-loop.ts'
import { openTarget } from './backup/open-target.ts'
import { verifyBackup } from './backup/verify-backup.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { logCommits } from './debug-log.ts'
import { FreeSpace } from './free-space.ts'
import { leaderLoops, type LeaderLoop } from './leader-loops.ts'
import type { ProgramLog } from './log.ts'
import { warnOfOtherKey, warnOfReplacedJoinToken } from './lost-state.ts'
import { CommitWatch } from './commit-watch.ts'
import { fullCollection, MemoryWatch } from './memory-watch.ts'
import { createPolicySource } from './policy-source.ts'
import { portSecurity } from './port-security.ts'
import { serverMetrics } from './server-metrics.ts'
import { installation } from './installation.ts'
import { createSealer } from './sealer.ts'
import { ServerRegions } from './server-regions.ts'
import type { ServerSecrets } from './server-secrets.ts'
import type { Shortage } from './server-storage.ts'
import { systemClock, systemIds, systemRandom } from './system.ts'
import type { Tracing } from './tracing/tracing.ts'
import { createWebhookSender } from './webhook-sender.ts'
import { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'

export interface ServerOptions {
  readonly config: AgentConfig
  readonly log: ProgramLog
  readonly engine: StorageEngine
  readonly secrets: ServerSecrets
  readonly version: string
  /** What the agent as a whole says about itself; made after the server, so asked late. */
  readonly agent: AgentInfo
  /** Another server may lead: nothing is decided here before `lead` is called. */
  readonly follows?: boolean
  /** Who answers, where several servers share one state. */
  readonly leader?: LeaderRouter
  /** Undefined where nothing is encrypted. */
  readonly tls?: Tls | undefined
  /** Undefined where nothing is traced. */
  readonly tracing?: Tracing | undefined
  /** The disk takes no writes: requests are answered, nothing is decided before `resume`. */
  readonly shortage?: Shortage | undefined
}

/** A server: state, loops and HTTP, wired together. Listens when `listen` is called. */
export class Server {
  readonly context: WorkloadContext
  readonly store: Store
  readonly app: App
  /** Undefined where no other region is known. */
  readonly regions: ServerRegions | undefined
  /** Undefined where none are configured. */
  readonly backups: BackupLoop | undefined
  readonly #options: ServerOptions
  readonly #policyAsker: PolicyThreads
  readonly #webhooks: WebhookSender
  /** Where runners on nodes reach this server; known when it listens. */
  #address = ''
  readonly #broker: EvaluationBroker
  /** What a leader does by itself; a follower has none. */
  #loops: readonly LeaderLoop[] = []
  #presence: Presence
  readonly #memory: MemoryWatch
  readonly #commits: CommitWatch
  /** Undefined where the state is in a database. */
  readonly #freeSpace: FreeSpace | undefined

  static async open(options: ServerOptions): Promise<Server> {
    const { engine, follows = false, shortage, tracing } = options
    const onCommit = tracing?.onCommit
    const store = await Store.open({ engine, clock: systemClock, follows, atEndOfTurn, onCommit })
    assertClusterLevel(store, options.version)
    const policyAsker = openPolicyThreads({ clock: systemClock, version: options.version })
    const regions = ServerRegions.open(options.config, options.tls)
    const broker = new EvaluationBroker({ store, clock: systemClock })
    const context = createContext(options, { store, policyAsker, regions, broker })
    if (shortage !== undefined) restrict(store, shortage)
    else if (!follows) await ensureBuiltIns(context, options.version)
    return new Server(options, { context, policyAsker, regions, broker })
  }

  private constructor(options: ServerOptions, { context, policyAsker, regions, broker }: Opened) {
    this.#policyAsker = policyAsker
    this.#broker = broker
    const { store } = context
    const { config, log } = options
    this.#options = options
    this.#webhooks = createWebhookSender({
      allowsLocal: config.dev,
      version: options.version,
      otherHeaders: aliasesOf(config.compatibility).governance.notificationHeaders,
    })
    this.context = context
    this.store = store
    this.regions = regions
    this.backups = createBackups(context, options)
    this.#presence = this.#newPresence()
    this.#memory = new MemoryWatch({
      clock: systemClock,
      log,
      capacity: context.capacity,
      collect: fullCollection(),
    })
    this.#memory.start()
    this.#commits = new CommitWatch({ clock: systemClock, log, store })
    this.#commits.start()
    this.#freeSpace = freeSpaceOf(config)
    void this.#freeSpace?.start()
    const isDebugging = config.log.level === 'debug'
    this.app = createApp({
      context,
      authenticator: new Authenticator(context),
      hub: new EventHub(store.log, systemClock, store.durableIndex),
      sessions: new NodeSessions(store, setImmediate, options.tracing?.tracer),
      random: systemRandom,
      agent: options.agent,
      log,
      version: options.version,
      aliases: aliasesOf(config.compatibility),
      webhooks: this.#webhooks,
      webFolder: installation.web,
      docsFolder: installation.docs,
      corsOrigins: config.http.corsOrigins,
      responseHeaders: config.http.responseHeaders,
      plainHttp: config.http.isPlain,
      requestsPerSecond: config.http.requestsPerSecondMax,
      externalUrl: config.http.externalUrl,
      limits: config.limits,
      heartbeatMs: () => this.#presence.heartbeatMs,
      seen: (nodeId) => this.#presence.seen(nodeId),
      ...(options.leader !== undefined && { leader: options.leader }),
      ...(options.tls !== undefined && { security: portSecurity(options.tls) }),
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
      ...(isDebugging && { onAnswered: (answered) => log.debug(answered, 'answered') }),
    })
    if (isDebugging) logCommits(store, log)
  }

  #newPresence(): Presence {
    const { config, log } = this.#options
    return new Presence({ ...this.context, log, settings: config.server.presence })
  }

  /** Built from state alone, so that whoever begins to lead goes on where another stopped. */
  #startLoops(): void {
    const { context } = this
    const { config, log } = this.#options
    warnOfOtherKey(context, log)
    warnOfReplacedJoinToken(context, log)
    this.#presence = this.#newPresence()
    this.#loops = [
      ...leaderLoops({
        context,
        log,
        broker: this.#broker,
        presence: this.#presence,
        audit: config.audit,
        retention: config.eventLog,
        copiesGlobalTokens: this.regions?.replication !== undefined,
        notifier: { webhooks: this.#webhooks, address: () => config.http.externalUrl },
        execution: {
          settings: executionSettings(config),
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
   * A follower begins to lead: the log was followed to its end, its checkpoint reaches to `upTo`.
   */
  async lead(upTo: number): Promise<void> {
    await this.store.lead(upTo)
    await ensureBuiltIns(this.context, this.#options.version)
    this.#startLoops()
  }

  /** Why nothing, or nothing but deletes, can be written; undefined while all is well. */
  get fault(): Fault | undefined {
    return this.store.fault ?? this.store.restriction
  }

  /** How long commits have been waiting for the storage; undefined while that is not long. */
  get commitDelay(): string | undefined {
    return this.#commits.delay
  }

  /** Tells when the storage has failed and nothing can be written any more. */
  onFault(tell: (fault: Fault) => void): void {
    this.store.onFault(tell)
  }

  /**
   * Answers requests, and starts the loops of a server that leads from the start. Returns the
   * address, with the port that was really taken.
   */
  async listen(host: string, port: number): Promise<string> {
    const address = await this.app.app.listen({ host, port })
    this.#address = runnerAddress(this.#options.config, address)
    const { follows, shortage } = this.#options
    if (follows !== true && shortage === undefined) this.#startLoops()
    return address
  }

  /** Nothing is decided from here on; requests are still answered. */
  async pause(): Promise<void> {
    const loops = this.#loops
    this.#loops = []
    await Promise.all(loops.map(async (loop) => await loop.stop()))
  }

  /** Goes on deciding, from the state as it is now. */
  resume(): void {
    if (this.#loops.length === 0) this.#startLoops()
  }

  /**
   * Nothing is decided from here on, before anybody is hung up on: a node that cannot be heard any
   * more is no node that is silent. The storage goes last: nobody is answered from a store that is
   * closing.
   */
  async stop(): Promise<void> {
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
    await this.#policyAsker.stop()
  }
}

function freeSpaceOf({ server, dataDirectory: path }: AgentConfig): FreeSpace | undefined {
  return server.database === undefined ? new FreeSpace({ path, clock: systemClock }) : undefined
}

function restrict(store: Store, { fault, accepts }: Shortage): void {
  store.abandon(fault)
  if (accepts === 'deletes') store.resume('deletes')
}

function createBackups(
  context: WorkloadContext,
  { config, log }: ServerOptions,
): BackupLoop | undefined {
  const { intervalMs, keep } = config.backup
  const target = openTarget(config.backup, join(config.dataDirectory, 'server'))
  if (target === undefined || intervalMs === undefined) return undefined
  const snapshot = (): AsyncIterable<Uint8Array> => snapshotChunks(context)
  const shared = { target, intervalMs, keep, clock: systemClock, log }
  return new BackupLoop({ ...shared, snapshot, verify: verifyBackup })
}

/** Isolation is the rule; to try things out, what `--dev` allows is enough. */
function executionSettings({ dev, infrastructure }: AgentConfig): ExecutionSettings {
  const driver = dev ? 'raw_exec' : EXECUTION_DEFAULTS.driver
  return { ...EXECUTION_DEFAULTS, ...infrastructure, driver }
}

/** Nodes reach the address that is advertised; the port is the one that was really taken. */
function runnerAddress({ advertise, bind }: AgentConfig, address: string): string {
  const url = new URL(address)
  const isAny = bind === '0.0.0.0' || bind === '::'
  if (isAny) url.hostname = advertise.host
  if (advertise.httpPort !== undefined) url.port = String(advertise.httpPort)
  return url.origin
}

interface Opened {
  readonly context: WorkloadContext
  readonly policyAsker: PolicyThreads
  readonly regions: ServerRegions | undefined
  readonly broker: EvaluationBroker
}

/** Where the operator writes the reset index. */
const BOOTSTRAP_RESET_FILE = 'acl-bootstrap-reset'

function createContext(
  { config, secrets, log, tracing }: ServerOptions,
  { store, policyAsker, regions, broker }: Omit<Opened, 'context'> & { readonly store: Store },
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
    policyAsker,
    guard: new PolicyGuard({ source: createPolicySource({ store, sealer }), asker: policyAsker }),
    jobFiles: new JobFileReader({
      clock: systemClock,
      aliases: aliasesOf(config.compatibility).jobFile,
    }),
    planGate: createPlanGate(systemClock),
    region: config.region,
    ...(regions !== undefined && { regions: regions.others }),
    offsetAt: createTimeZoneOffset(),
    aclEnabled: config.acl.enabled,
    ruleAliases: aliasesOf(config.compatibility).rules,
    joinToken: secrets.joinToken,
    nodeAdmission: config.server.admission,
    readBootstrapReset: () => readOptional(join(config.dataDirectory, BOOTSTRAP_RESET_FILE)),
  }
}

async function readOptional(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
}

/** Requests that came together are committed together. */
function atEndOfTurn(work: () => void): void {
  setImmediate(work)
}
