import type { HelloMessage, WelcomeMessage } from '@reeve/contract'
import { CHANNEL_VERSIONS } from '@reeve/contract'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import { assert } from '@reeve/kit/fault.ts'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import type { Tracer } from '@reeve/kit/trace.ts'
import {
  asCollectable,
  AllocationGarbageCollector,
  type GcThresholds,
} from './allocation/garbage-collector.ts'
import { HeartbeatStop } from './allocation/heartbeat-stop.ts'
import type { ArtifactSettings } from './artifact/fetch-artifact.ts'
import { CoreReservations } from './core-reservations.ts'
import type { TaskDriver } from './driver.ts'
import type { Fingerprint } from './fingerprint.ts'
import type { AgentContext } from './agent-context.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Dialer } from './link/channel.ts'
import { ServerLink } from './link/server-link.ts'
import type { DesiredEnvelope } from './link/session.ts'
import type { Logger } from './log.ts'
import { EventLoopBudget, Semaphore, sleep } from './timing.ts'
import { IncomingMigrations } from './migrate/migrations.ts'
import type { NetworkManager } from './network/allocation-network.ts'
import { AllocationManager } from './allocation-manager.ts'
import { LocalNode, NodeMetadata, NodeRegion, type NodeSettings } from './local-node.ts'
import { reconcileDrivers } from './driver-cleanup.ts'
import { newRequestHandler } from './remote/agent-request-handler.ts'
import type { RemoteRequestHandler } from './remote/request-handler.ts'
import { CatalogClient } from './services/catalog-client.ts'
import { newServiceHook, NodeServices } from './services/node-services.ts'
import type { AgentStorage, StorageIdentity } from './store/agent-storage.ts'
import { lastOutputHook } from './task/last-output.ts'
import { buildTaskHooks } from './task/task-hooks.ts'
import { TemplateRenderer } from './template/template-renderer.ts'
import { DynamicVolumes, type VolumeSettings } from './volumes/dynamic-volumes.ts'

interface NodeAgentOptions {
  readonly settings: NodeSettings
  readonly storage: AgentStorage
  readonly drivers: readonly TaskDriver[]
  readonly clock: Clock
  readonly random: Random
  readonly ids: IdSource
  readonly log: Logger
  /** Log of this process for callers that may follow it; absent if it cannot be followed. */
  readonly feed?: LogFeed
  readonly dial: Dialer
  /** Fingerprints the machine; simulated nodes return a synthetic fingerprint. */
  probe(): Promise<Fingerprint>
  /** Join token for servers that require one. */
  readonly joinToken?: string
  /** False rejects commands in tasks, whatever the permissions of the caller. Defaults to true. */
  readonly allowsExec?: boolean
  /** Creates allocation networks; without it only groups with the host network run here. */
  readonly networks?: NetworkManager
  /** Operator settings for artifacts; the defaults are strict. */
  readonly artifacts?: Partial<ArtifactSettings>
  /** Upper limit of `kill_timeout`; 30 s by default. */
  readonly killTimeoutMsMax?: number
  /** Settings of dynamic host volumes; without them only configured volumes exist. */
  readonly volumes?: VolumeSettings
  /** Thresholds of garbage collection; the defaults unless given. */
  readonly garbage?: GcThresholds
  /** Undefined if tracing is off. */
  readonly tracer?: Tracer | undefined
}

/**
 * The node agent: runs the assigned allocations and reports their status. It may be killed at any
 * time: tasks continue without it, and the next agent on the same storage recovers them.
 */
export class NodeAgent {
  readonly #options: NodeAgentOptions
  readonly #firstServerContact = Promise.withResolvers<void>()
  readonly #stopping = new AbortController()
  readonly #link: ServerLink
  readonly #heartbeatStop: HeartbeatStop
  readonly #requestHandler: RemoteRequestHandler
  readonly #garbageCollector: AllocationGarbageCollector
  readonly #services: NodeServices
  readonly #catalog: CatalogClient
  readonly #migrations: IncomingMigrations
  readonly #region: NodeRegion
  readonly #localNode: LocalNode
  readonly #nodeMetadata: NodeMetadata
  readonly #dynamicVolumes: DynamicVolumes
  readonly #allocationManager: AllocationManager
  readonly #templateRenderer = new TemplateRenderer()
  #identity: StorageIdentity | undefined
  /** Resolves when no new secret is being stored. */
  #secretWrites: Promise<unknown> = Promise.resolve()
  #fingerprintLoop: Promise<void> | undefined
  #reconcileLoop: Promise<void> | undefined

  constructor(options: NodeAgentOptions) {
    this.#options = options
    const { clock, random, log, dial, storage, settings } = options
    this.#region = new NodeRegion({ configured: settings.Region, storage, log })
    this.#nodeMetadata = new NodeMetadata({
      configured: settings.Meta,
      store: (meta) => storage.saveMeta(meta),
      onChange: () => this.#link.sendNode(this.#localNode.registration()),
    })
    this.#dynamicVolumes = this.#createDynamicVolumes()
    this.#localNode = this.#createLocalNode()
    this.#allocationManager = this.#createAllocationManager()
    this.#link = new ServerLink({
      clock,
      random,
      log,
      // A node must connect with the secret that it has stored: servers rely on it.
      dialServer: async () => {
        await this.#secretWrites
        return await dial()
      },
      helloMessage: () => this.#helloMessage(),
      currentUpdates: () => this.#allocationManager.currentUpdates(),
      onWelcome: (welcome) => this.#onWelcome(welcome),
      onDesired: (message) => this.#applyDesired(message),
      onCatalogMessage: (message) =>
        message.kind === 'facts'
          ? this.#catalog.onFacts(message)
          : this.#services.onAcknowledged(message),
      onNoData: ({ allocation, reason }) => this.#migrations.onRefused(allocation, reason),
      onContact: () => this.#heartbeatStop.onServerContact(),
      onRequest: ({ id, request }) => this.#requestHandler.handleRequest(id, request),
      onOpenStream: ({ stream, request }, answer) =>
        this.#requestHandler.handleStream(stream, request, answer),
    })
    const say = (message: object): void => this.#link.send(message)
    this.#catalog = new CatalogClient(say)
    const { workspace } = storage
    const isHere = (id: string): boolean => this.#allocationManager.runners.has(id)
    this.#migrations = new IncomingMigrations({ clock, workspace, send: say, isLocal: isHere })
    this.#services = new NodeServices({
      clock,
      log,
      workspace,
      send: say,
      node: () => this.#localNode.info(),
      allocationIp: (id) => options.networks?.find(id)?.address || undefined,
    })
    this.#requestHandler = this.#createRequestHandler()
    this.#garbageCollector = this.#createGarbageCollector()
    this.#heartbeatStop = new HeartbeatStop({
      clock,
      allocations: () => this.#allocationManager.stoppableAllocations(),
    })
  }

  /** ID of the node; available once started. */
  get nodeId(): string {
    return this.#requireIdentity().nodeId
  }

  /**
   * Opens the storage, fingerprints the machine, recovers the tasks of the previous agent, and
   * starts to connect. Does not wait for a server: tasks must not depend on one.
   */
  async start(): Promise<void> {
    const { storage, ids, clock, drivers, log } = this.#options
    this.#identity = await storage.open(ids)
    const { region, meta, volumes = [], tmpfsProblem: reason } = this.#identity
    this.#region.restore(region)
    this.#nodeMetadata.restore(meta)
    if (reason !== undefined) log.warn({ reason }, 'secrets of tasks are kept on the disk')
    try {
      await this.#localNode.fingerprintAll()
      await this.#dynamicVolumes.restore(volumes)
      const byName = new Map(drivers.map((driver) => [driver.name, driver]))
      await this.#allocationManager.restore(this.#createContext(byName))
    } catch (thrown) {
      await storage.close()
      throw thrown
    }
    this.#heartbeatStop.start()
    this.#garbageCollector.start()
    this.#link.start()
    this.#fingerprintLoop = this.#runFingerprintLoop(clock)
    this.#reconcileLoop = reconcileDrivers({
      drivers,
      clock,
      log,
      stopping: this.#stopping.signal,
      runningAllocations: () => this.#allocationManager.runners.values(),
    })
  }

  /** Stops the agent. The tasks continue unless `killTasks` is set. Idempotent. */
  async stop(options: { readonly killTasks?: boolean } = {}): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    this.#heartbeatStop.stop()
    await this.#garbageCollector.stop()
    await this.#requestHandler.stop()
    await this.#allocationManager.stop({ killTasks: options.killTasks === true })
    await this.#templateRenderer.stop()
    await this.#link.stop()
    await this.#fingerprintLoop
    await this.#reconcileLoop
    await this.#options.storage.close()
  }

  #requireIdentity(): StorageIdentity {
    assert(this.#identity !== undefined, 'the identity is read before it is used')
    return this.#identity
  }

  #createDynamicVolumes(): DynamicVolumes {
    const { settings, storage, log, volumes } = this.#options
    return new DynamicVolumes({
      settings: volumes,
      configured: settings.HostVolumes ?? {},
      log,
      nodeId: () => this.nodeId,
      findVolumeUser: (name) => this.#allocationManager.findVolumeUser(name),
      saveVolumes: (kept) => storage.saveVolumes(kept),
      onChange: () => this.#link.sendNode(this.#localNode.registration()),
    })
  }

  #createLocalNode(): LocalNode {
    const { settings, drivers, networks, clock, log } = this.#options
    return new LocalNode({
      settings,
      drivers,
      ...(networks === undefined ? {} : { networks }),
      clock,
      log,
      fingerprintMachine: () => this.#options.probe(),
      nodeId: () => this.nodeId,
      meta: () => this.#nodeMetadata.effectiveValues(),
      volumes: this.#dynamicVolumes,
      region: () => this.#region.effective,
    })
  }

  #createAllocationManager(): AllocationManager {
    const { storage, drivers, clock, log, tracer } = this.#options
    return new AllocationManager({
      storage,
      drivers,
      clock,
      log,
      tracer,
      stopping: this.#stopping.signal,
      reportUpdate: (update) => this.#link.report(update),
      onAllocationAdded: () => this.#garbageCollector.runSoon(),
      onAllocationRemoved: (id) => this.#services.onAllocationTerminated(id),
    })
  }

  #createContext(drivers: ReadonlyMap<string, TaskDriver>): AgentContext {
    const { clock, random, log, storage, networks, killTimeoutMsMax } = this.#options
    return {
      clock,
      random,
      log,
      store: storage.store,
      workspace: storage.workspace,
      drivers,
      taskHooks: this.#createTaskHooks(),
      ...(networks === undefined ? {} : { networks }),
      killTimeoutMaxMs: killTimeoutMsMax ?? AGENT_LIMITS.killTimeoutMaxMs,
      coreReservations: this.#createCoreReservations(drivers),
      services: this.#services,
      catalog: this.#catalog,
      migrations: this.#migrations,
      startSlots: new Semaphore(AGENT_LIMITS.startsInFlightMax),
      loopBudget: new EventLoopBudget(),
      recordsDir: storage.recordsDir,
      bootId: this.#requireIdentity().bootId,
      nodeInfo: () => this.#localNode.info(),
      firstServerContact: this.#firstServerContact.promise,
    }
  }

  #createCoreReservations(drivers: ReadonlyMap<string, TaskDriver>): CoreReservations {
    return new CoreReservations({
      coreCount: () => Number(this.#localNode.info().Attributes['cpu.numcores'] ?? 0),
      onSharedCoresChanged: async (shared) => {
        for (const driver of drivers.values()) await driver.shareCores?.(shared)
      },
    })
  }

  #createTaskHooks(): AgentContext['taskHooks'] {
    const { artifacts = {} } = this.#options
    const hooks = buildTaskHooks({
      catalogFor: ({ assignment: { job, group }, task }) =>
        this.#catalog.forTask({
          jobId: job.ParentID || job.ID,
          group: group.Name,
          task: task.Name,
        }),
      artifacts,
      volumes: this.#dynamicVolumes,
      templateRenderer: this.#templateRenderer,
    })
    const outputHook = lastOutputHook((id) => this.#services.failedChecks(id))
    return [...hooks, newServiceHook(this.#services), outputHook]
  }

  #createGarbageCollector(): AllocationGarbageCollector {
    const { clock, log, storage, garbage } = this.#options
    return new AllocationGarbageCollector({
      clock,
      log,
      ...(garbage === undefined ? {} : { thresholds: garbage }),
      allocations: () =>
        [...this.#allocationManager.runners.values()]
          .filter(({ id }) => this.#requestHandler.hasFiles(id))
          .map((runner) => asCollectable(runner, clock.nowMs())),
      diskUsage: () => storage.workspace.diskUsage(),
      destroy: (id) => this.#requestHandler.collect(id),
    })
  }

  #createRequestHandler(): RemoteRequestHandler {
    const { clock, log, storage, allowsExec = true } = this.#options
    return newRequestHandler({
      clock,
      log,
      workspace: storage.workspace,
      allowsExec,
      migrations: this.#migrations,
      runners: this.#allocationManager.runners,
      mhzPerCore: () => this.#localNode.mhzPerCore(),
      checksOf: (id) => this.#services.checkResults(id),
      failedChecksOf: (id) => this.#services.failedChecks(id),
      saveSecret: (secret) => this.#storeSecret(secret),
      meta: this.#nodeMetadata,
      logFeed: this.#options.feed,
      volumes: this.#dynamicVolumes,
    })
  }

  /** Stores a new secret from the servers. The old one is used until the new one is durable. */
  #storeSecret(secret: string): Promise<void> {
    const { storage, log } = this.#options
    const write = async (): Promise<void> => {
      await storage.saveSecret(secret)
      this.#identity = { ...this.#requireIdentity(), secret }
      log.info({}, 'stored a new secret of this node')
    }
    const written = write()
    this.#secretWrites = Promise.allSettled([this.#secretWrites, written])
    return written
  }

  #helloMessage(): HelloMessage {
    const { joinToken, clock } = this.#options
    const { configured } = this.#region
    return {
      kind: 'hello',
      version: CHANNEL_VERSIONS.newest,
      oldestVersion: CHANNEL_VERSIONS.oldest,
      node: this.#localNode.registration(),
      secret: this.#requireIdentity().secret,
      timeMs: clock.nowMs(),
      ...(configured === undefined ? {} : { region: configured }),
      ...(joinToken === undefined ? {} : { joinToken }),
    }
  }

  #onWelcome({ serverTimeMs, region }: WelcomeMessage): void {
    const { clock, log } = this.#options
    this.#region.onWelcome(region)
    this.#allocationManager.onConnected()
    this.#services.onConnected()
    this.#catalog.resubscribeAll()
    this.#migrations.onConnected()
    const skewMs = clock.nowMs() - serverTimeMs
    if (Math.abs(skewMs) > CLOCK_SKEW_WARN_MS) log.warn({ skewMs }, "this node's clock is wrong")
    log.info({ node: this.nodeId }, 'connected to a server')
  }

  #applyDesired(message: DesiredEnvelope): void {
    if (this.#stopping.signal.aborted) return
    this.#allocationManager.applyDesired(message)
    this.#heartbeatStop.rearm()
    if (!message.full || message.more === true) return
    this.#allocationManager.removeUnlisted()
    this.#firstServerContact.resolve()
  }

  /**
   * Refreshes drivers and networks periodically and sends the node to the servers if it changed.
   */
  async #runFingerprintLoop(clock: Clock): Promise<void> {
    while (await sleep(clock, AGENT_LIMITS.fingerprintIntervalMs, this.#stopping.signal)) {
      const changed = await this.#localNode.refresh()
      if (changed !== undefined) this.#link.sendNode(changed)
    }
  }
}

/** Difference between the clocks of node and server above which a warning is logged. */
const CLOCK_SKEW_WARN_MS = 5_000
