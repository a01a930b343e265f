import type { HelloMessage, WelcomeMessage } from '@reeve/contract'
import { CHANNEL_VERSIONS } from '@reeve/contract'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import { assert } from '@reeve/kit/fault.ts'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import type { Tracer } from '@reeve/kit/trace.ts'
import { asCollectable, GarbageWatch, type GarbageThresholds } from './allocation/garbage-watch.ts'
import { AloneWatch } from './allocation/alone-watch.ts'
import type { ArtifactSettings } from './artifact/fetch-artifact.ts'
import { CoreReservations } from './core-reservations.ts'
import type { TaskDriver } from './driver.ts'
import type { Fingerprint } from './fingerprint.ts'
import type { AgentHost } from './host.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Dial } from './link/channel.ts'
import { ServerLink } from './link/server-link.ts'
import type { DesiredEnvelope } from './link/server-message.ts'
import type { Log } from './log.ts'
import { LoopTurns } from './loop-turns.ts'
import { Migrations } from './migrate/migrations.ts'
import type { AllocationNetworks } from './network/allocation-network.ts'
import { NodeAllocations } from './node-allocations.ts'
import { NodeDescription, type NodeSettings } from './node-description.ts'
import { NodeMetadata } from './node-meta.ts'
import { NodeRegion } from './node-region.ts'
import { reconcileDrivers } from './reconcile-drivers.ts'
import { agentRemote } from './remote/agent-remote.ts'
import type { Remote } from './remote/remote.ts'
import { CatalogClient } from './services/catalog-client.ts'
import { NodeServices } from './services/node-services.ts'
import { serviceHook } from './services/service-hook.ts'
import type { AgentStorage, StorageIdentity } from './store/storage.ts'
import { lastOutputHook } from './task/last-output.ts'
import { taskHooks } from './task/task-hooks.ts'
import { TemplateRenderer } from './template/template-renderer.ts'
import { DynamicVolumes, type VolumeSettings } from './volumes/dynamic-volumes.ts'
import { pause, Slots } from './wait.ts'

interface NodeAgentOptions {
  readonly settings: NodeSettings
  readonly storage: AgentStorage
  readonly drivers: readonly TaskDriver[]
  readonly clock: Clock
  readonly random: Random
  readonly ids: IdSource
  readonly log: Log
  /** The log of this process, for callers that may follow it; none unless given. */
  readonly feed?: LogFeed
  readonly dial: Dial
  /** Reads the machine: `fingerprint`, or a made-up one for a simulated node. */
  probe(): Promise<Fingerprint>
  /** Lets the node in where the servers ask for one. */
  readonly joinToken?: string
  /** False refuses commands of callers inside tasks, whatever their rights; true unless given. */
  readonly allowsExec?: boolean
  /** Networks of allocations; without them groups that want one do not run here. */
  readonly networks?: AllocationNetworks
  /** The operator's rules for artifacts; the strict defaults unless given. */
  readonly artifacts?: Partial<ArtifactSettings>
  /** The longest that a task may ask for between kill signal and forced end; 30 s unless given. */
  readonly killTimeoutMsMax?: number
  /** Where volumes are made; without it the node has none but the configured ones. */
  readonly volumes?: VolumeSettings
  /** When what ended allocations left is removed; the usual limits unless given. */
  readonly garbage?: GarbageThresholds
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined
}

/**
 * Our process on a node: runs what the servers say, tells them how it goes, and can be killed at
 * any moment: tasks go on without it, and the next agent on the same storage takes them over.
 */
export class NodeAgent {
  readonly #options: NodeAgentOptions
  readonly #serverContact = Promise.withResolvers<void>()
  readonly #stopping = new AbortController()
  readonly #link: ServerLink
  readonly #alone: AloneWatch
  readonly #remote: Remote
  readonly #garbage: GarbageWatch
  readonly #services: NodeServices
  readonly #catalog: CatalogClient
  readonly #migrations: Migrations
  readonly #region: NodeRegion
  readonly #node: NodeDescription
  readonly #meta: NodeMetadata
  readonly #volumes: DynamicVolumes
  readonly #allocations: NodeAllocations
  readonly #renderer = new TemplateRenderer()
  #identity: StorageIdentity | undefined
  /** Settles when no new secret is being stored. */
  #storingSecret: Promise<unknown> = Promise.resolve()
  #probing: Promise<void> | undefined
  #reconciling: Promise<void> | undefined

  constructor(options: NodeAgentOptions) {
    this.#options = options
    const { clock, random, log, dial, storage, settings } = options
    this.#region = new NodeRegion({ setting: settings.Region, storage, log })
    this.#meta = new NodeMetadata({
      configured: settings.Meta,
      keep: (meta) => storage.keepMeta(meta),
      changed: () => this.#link.sendNode(this.#node.registration()),
    })
    this.#volumes = this.#makeVolumes()
    this.#node = this.#makeDescription()
    this.#allocations = this.#makeAllocations()
    this.#link = new ServerLink({
      clock,
      random,
      log,
      // A node that connects shows the secret that it has stored: servers rely on it.
      dial: async () => {
        await this.#storingSecret
        return await dial()
      },
      hello: () => this.#hello(),
      updates: () => this.#allocations.updates(),
      welcomed: (welcome) => this.#welcomed(welcome),
      desired: (message) => this.#applyDesired(message),
      catalog: (message) =>
        message.kind === 'facts'
          ? this.#catalog.received(message)
          : this.#services.acknowledged(message),
      noData: ({ allocation, reason }) => this.#migrations.refused(allocation, reason),
      heard: () => this.#alone.heard(),
      requested: ({ id, request }) => this.#remote.reply(id, request),
      opened: ({ stream, request }, answer) => this.#remote.stream(stream, request, answer),
    })
    const say = (message: object): void => this.#link.say(message)
    this.#catalog = new CatalogClient(say)
    const { workspace } = storage
    const isHere = (id: string): boolean => this.#allocations.runners.has(id)
    this.#migrations = new Migrations({ clock, workspace, say, isHere })
    this.#services = new NodeServices({
      clock,
      log,
      workspace,
      say,
      node: () => this.#node.facts(),
      allocationIp: (id) => options.networks?.find(id)?.address || undefined,
    })
    this.#remote = this.#makeRemote()
    this.#garbage = this.#makeGarbageWatch()
    this.#alone = new AloneWatch({ clock, allocations: () => this.#allocations.watched() })
  }

  /** The node's identifier; known once started. */
  get nodeId(): string {
    return this.#known().nodeId
  }

  /**
   * Takes the storage, looks at the machine, takes over what an agent before this one left running,
   * and begins to dial. Does not wait for a server: tasks must not depend on one.
   */
  async start(): Promise<void> {
    const { storage, ids, clock, drivers, log } = this.#options
    this.#identity = await storage.open(ids)
    const { region, meta, volumes = [], secretsComplaint: reason } = this.#identity
    this.#region.recall(region)
    this.#meta.restore(meta)
    if (reason !== undefined) log.warn({ reason }, 'secrets of tasks are kept on the disk')
    try {
      await this.#node.probe()
      await this.#volumes.restore(volumes)
      const byName = new Map(drivers.map((driver) => [driver.name, driver]))
      await this.#allocations.restore(this.#makeHost(byName))
    } catch (thrown) {
      await storage.close()
      throw thrown
    }
    this.#alone.start()
    this.#garbage.start()
    this.#link.start()
    this.#probing = this.#probeAgain(clock)
    this.#reconciling = reconcileDrivers({
      drivers,
      clock,
      log,
      stopping: this.#stopping.signal,
      allocations: () => this.#allocations.runners.values(),
    })
  }

  /** Ends the agent. The tasks go on, unless they are to end with it. Safe to call twice. */
  async stop(options: { readonly killTasks?: boolean } = {}): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    this.#alone.stop()
    await this.#garbage.stop()
    await this.#remote.stop()
    await this.#allocations.stop({ killTasks: options.killTasks === true })
    await this.#renderer.stop()
    await this.#link.stop()
    await this.#probing
    await this.#reconciling
    await this.#options.storage.close()
  }

  #known(): StorageIdentity {
    assert(this.#identity !== undefined, 'the identity is read before it is used')
    return this.#identity
  }

  #makeVolumes(): DynamicVolumes {
    const { settings, storage, log, volumes } = this.#options
    return new DynamicVolumes({
      settings: volumes,
      configured: settings.HostVolumes ?? {},
      log,
      nodeId: () => this.nodeId,
      mounterOf: (name) => this.#allocations.mounterOf(name),
      keep: (kept) => storage.keepVolumes(kept),
      changed: () => this.#link.sendNode(this.#node.registration()),
    })
  }

  #makeDescription(): NodeDescription {
    const { settings, drivers, networks, clock, log } = this.#options
    return new NodeDescription({
      settings,
      drivers,
      ...(networks === undefined ? {} : { networks }),
      clock,
      log,
      probe: () => this.#options.probe(),
      nodeId: () => this.nodeId,
      meta: () => this.#meta.values(),
      volumes: this.#volumes,
      region: () => this.#region.name,
    })
  }

  #makeAllocations(): NodeAllocations {
    const { storage, drivers, clock, log, tracer } = this.#options
    return new NodeAllocations({
      storage,
      drivers,
      clock,
      log,
      tracer,
      stopping: this.#stopping.signal,
      report: (update) => this.#link.report(update),
      added: () => this.#garbage.lookSoon(),
      removed: (id) => this.#services.ended(id),
    })
  }

  #makeHost(drivers: ReadonlyMap<string, TaskDriver>): AgentHost {
    const { clock, random, log, storage, networks, killTimeoutMsMax } = this.#options
    return {
      clock,
      random,
      log,
      store: storage.store,
      workspace: storage.workspace,
      drivers,
      taskHooks: this.#makeTaskHooks(),
      ...(networks === undefined ? {} : { networks }),
      killTimeoutMsMax: killTimeoutMsMax ?? AGENT_LIMITS.killTimeoutMsMax,
      cores: this.#makeCores(drivers),
      services: this.#services,
      catalog: this.#catalog,
      migrations: this.#migrations,
      starts: new Slots(AGENT_LIMITS.startsInFlightMax),
      turns: new LoopTurns(),
      recordsDir: storage.recordsDir,
      bootId: this.#known().bootId,
      node: () => this.#node.facts(),
      serverContact: this.#serverContact.promise,
    }
  }

  #makeCores(drivers: ReadonlyMap<string, TaskDriver>): CoreReservations {
    return new CoreReservations({
      coreCount: () => Number(this.#node.facts().Attributes['cpu.numcores'] ?? 0),
      changed: async (shared) => {
        for (const driver of drivers.values()) await driver.shareCores?.(shared)
      },
    })
  }

  #makeTaskHooks(): AgentHost['taskHooks'] {
    const { artifacts = {} } = this.#options
    const hooks = taskHooks({
      catalog: ({ assignment: { job, group }, task }) =>
        this.#catalog.forTask({
          jobId: job.ParentID || job.ID,
          group: group.Name,
          task: task.Name,
        }),
      artifacts,
      volumes: this.#volumes,
      renderer: this.#renderer,
    })
    const output = lastOutputHook((id) => this.#services.failedChecksOf(id))
    return [...hooks, serviceHook(this.#services), output]
  }

  #makeGarbageWatch(): GarbageWatch {
    const { clock, log, storage, garbage } = this.#options
    return new GarbageWatch({
      clock,
      log,
      ...(garbage === undefined ? {} : { thresholds: garbage }),
      allocations: () =>
        [...this.#allocations.runners.values()]
          .filter(({ id }) => this.#remote.hasFiles(id))
          .map((runner) => asCollectable(runner, clock.nowMs())),
      fill: () => storage.workspace.fill(),
      collect: (id) => this.#remote.collect(id),
    })
  }

  #makeRemote(): Remote {
    const { clock, log, storage, allowsExec = true } = this.#options
    return agentRemote({
      clock,
      log,
      workspace: storage.workspace,
      allowsExec,
      migrations: this.#migrations,
      runners: this.#allocations.runners,
      mhzPerCore: () => this.#node.mhzPerCore(),
      checksOf: (id) => this.#services.checksOf(id),
      failedChecksOf: (id) => this.#services.failedChecksOf(id),
      keepSecret: (secret) => this.#keepSecret(secret),
      meta: this.#meta,
      feed: this.#options.feed,
      volumes: this.#volumes,
    })
  }

  /** The servers gave the node a new secret. The old one is used until the new one is durable. */
  #keepSecret(secret: string): Promise<void> {
    const { storage, log } = this.#options
    const store = async (): Promise<void> => {
      await storage.keepSecret(secret)
      this.#identity = { ...this.#known(), secret }
      log.info({}, 'stored a new secret of this node')
    }
    const stored = store()
    this.#storingSecret = Promise.allSettled([this.#storingSecret, stored])
    return stored
  }

  #hello(): HelloMessage {
    const { joinToken, clock } = this.#options
    const { told } = this.#region
    return {
      kind: 'hello',
      version: CHANNEL_VERSIONS.newest,
      oldestVersion: CHANNEL_VERSIONS.oldest,
      node: this.#node.registration(),
      secret: this.#known().secret,
      timeMs: clock.nowMs(),
      ...(told === undefined ? {} : { region: told }),
      ...(joinToken === undefined ? {} : { joinToken }),
    }
  }

  #welcomed({ serverTimeMs, region }: WelcomeMessage): void {
    const { clock, log } = this.#options
    this.#region.welcomed(region)
    this.#allocations.welcomed()
    this.#services.welcomed()
    this.#catalog.welcomed()
    this.#migrations.welcomed()
    const skewMs = clock.nowMs() - serverTimeMs
    if (Math.abs(skewMs) > SKEW_MS_MAX) log.warn({ skewMs }, "this node's clock is wrong")
    log.info({ node: this.nodeId }, 'connected to a server')
  }

  #applyDesired(message: DesiredEnvelope): void {
    if (this.#stopping.signal.aborted) return
    this.#allocations.apply(message)
    this.#alone.review()
    if (!message.full || message.more === true) return
    this.#allocations.removeUnlisted()
    this.#serverContact.resolve()
  }

  /** Drivers and networks come and go; the servers are told when one does. */
  async #probeAgain(clock: Clock): Promise<void> {
    while (await pause(clock, AGENT_LIMITS.fingerprintMs, this.#stopping.signal)) {
      const changed = await this.#node.probeAgain()
      if (changed !== undefined) this.#link.sendNode(changed)
    }
  }
}

/** A larger difference between the clocks of node and server is worth a word. */
const SKEW_MS_MAX = 5_000
