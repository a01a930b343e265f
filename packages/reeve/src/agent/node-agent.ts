import { dirname } from 'node:path'
import type {
  AllocationUpdate,
  DriverInfo,
  HelloMessage,
  NodeRegistration,
  WelcomeMessage,
} from '@reeve/contract'
import { CHANNEL_VERSION } from '@reeve/contract'
import type { Clock, IdSource, Random } from '../kit/clock.ts'
import { isoFromMs } from '../kit/duration.ts'
import { assert, messageOf } from '../kit/fault.ts'
import { AllocationRunner } from './allocation/allocation-runner.ts'
import { GarbageWatch, type GarbageThresholds } from './allocation/garbage-watch.ts'
import { AloneWatch, type Watched } from './allocation/alone-watch.ts'
import { isClientTerminal, isServerTerminal } from '../model/index.ts'
import { readAssignment, type Assignment } from './assignment.ts'
import type { TaskDriver } from './driver.ts'
import type { Fingerprint } from './fingerprint.ts'
import type { AgentHost } from './host.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Dial } from './link/channel.ts'
import { ServerLink } from './link/server-link.ts'
import type { DesiredEnvelope } from './link/server-message.ts'
import type { Log } from './log.ts'
import { Migrations } from './migrate/migrations.ts'
import type { AllocationNetworks } from './network/allocation-network.ts'
import type { NodeFacts } from './node-facts.ts'
import { NodeRegion } from './node-region.ts'
import { agentRemote } from './remote/agent-remote.ts'
import type { Remote } from './remote/remote.ts'
import { CatalogClient } from './services/catalog-client.ts'
import { NodeServices } from './services/node-services.ts'
import { serviceHook } from './services/service-hook.ts'
import { diskFill } from './store/disk-fill.ts'
import type { AgentStorage, StorageIdentity } from './store/storage.ts'
import type { TaskRecords } from './store/store.ts'
import { sweepDrivers } from './sweep-drivers.ts'
import type { TaskControl } from './task/task-control.ts'
import { taskHooks } from './task/task-hooks.ts'
import { pause, Slots, withDeadline } from './wait.ts'

/** What the operator decides about a node; the machine tells the rest. */
export interface NodeSettings extends Pick<
  NodeRegistration,
  | 'Name'
  | 'Datacenter'
  | 'NodePool'
  | 'NodeClass'
  | 'HTTPAddr'
  | 'TLSEnabled'
  | 'ReservedResources'
  | 'HostVolumes'
> {
  readonly Region: string
  readonly Meta: Readonly<Record<string, string>>
  /** The control group that those of tasks are below; none unless given. */
  readonly CgroupParent?: string
}

interface NodeAgentOptions {
  readonly settings: NodeSettings
  readonly storage: AgentStorage
  readonly drivers: readonly TaskDriver[]
  readonly clock: Clock
  readonly random: Random
  readonly ids: IdSource
  readonly log: Log
  readonly dial: Dial
  /** Reads the machine: `fingerprint`, or a made-up one for a simulated node. */
  probe(): Promise<Fingerprint>
  /** Lets the node in where the servers ask for one. */
  readonly joinToken?: string
  /** False refuses commands of callers inside tasks, whatever their rights; true unless given. */
  readonly allowsExec?: boolean
  /** Networks of allocations; without them groups that want one do not run here. */
  readonly networks?: AllocationNetworks
  /** Whether artifacts may be files of this machine; false unless given. */
  readonly allowsFileArtifacts?: boolean
  /** The longest that a task may ask for between kill signal and forced end; 30 s unless given. */
  readonly killTimeoutMsMax?: number
  /** When what ended allocations left is removed; reference scheduling §39 unless given. */
  readonly garbage?: GarbageThresholds
}

/**
 * Our process on a node: runs what the servers say, tells them how it goes, and can be killed at
 * any moment: tasks go on without it, and the next agent on the same storage takes them over.
 */
export class NodeAgent {
  readonly #options: NodeAgentOptions
  readonly #runners = new Map<string, AllocationRunner>()
  /** What is said of allocations that never had a runner here. */
  readonly #answers = new Map<string, AllocationUpdate>()
  readonly #removing = new Set<string>()
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
  #listed = new Set<string>()
  #identity: StorageIdentity | undefined
  #fingerprint: Fingerprint | undefined
  #driverInfo: Readonly<Record<string, DriverInfo>> = {}
  #host: AgentHost | undefined
  #probing: Promise<void> | undefined

  constructor(options: NodeAgentOptions) {
    this.#options = options
    const { clock, random, log, dial, storage, settings } = options
    this.#region = new NodeRegion({ setting: settings.Region, storage, log })
    this.#link = new ServerLink({
      clock,
      random,
      log,
      dial,
      hello: () => this.#hello(),
      updates: () => this.#updates(),
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
    const isHere = (id: string): boolean => this.#runners.has(id)
    this.#migrations = new Migrations({ clock, workspace, say, isHere })
    this.#services = new NodeServices({
      clock,
      log,
      workspace,
      say,
      node: () => this.#facts(),
      allocationIp: (id) => options.networks?.find(id)?.address || undefined,
    })
    this.#remote = this.#makeRemote()
    this.#garbage = this.#makeGarbageWatch()
    this.#alone = new AloneWatch({ clock, allocations: () => this.#watched() })
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
    const { region, secretsComplaint: reason } = this.#identity
    this.#region.recall(region)
    if (reason !== undefined) log.warn({ reason }, 'secrets of tasks are kept on the disk')
    try {
      this.#fingerprint = await this.#withNetworks(await this.#options.probe())
      this.#driverInfo = await this.#probeDrivers()
      this.#host = this.#makeHost(new Map(drivers.map((driver) => [driver.name, driver])))
      await this.#restore()
    } catch (thrown) {
      await storage.close()
      throw thrown
    }
    this.#alone.start()
    this.#garbage.start()
    this.#link.start()
    this.#probing = this.#probeAgain(clock)
  }

  /** Ends the agent. The tasks go on, unless they are to end with it. Safe to call twice. */
  async stop(options: { readonly killTasks?: boolean } = {}): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    this.#alone.stop()
    await this.#garbage.stop()
    await this.#remote.stop()
    const runners = [...this.#runners.values()]
    if (options.killTasks === true) await Promise.all(runners.map((runner) => runner.destroy()))
    await Promise.all(runners.map((runner) => runner.halt()))
    await this.#link.stop()
    await this.#probing
    await this.#options.storage.close()
  }

  #known(): StorageIdentity {
    assert(this.#identity !== undefined, 'the identity is read before it is used')
    return this.#identity
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
      services: this.#services,
      catalog: this.#catalog,
      migrations: this.#migrations,
      starts: new Slots(AGENT_LIMITS.startsInFlightMax),
      recordsDir: storage.recordsDir,
      bootId: this.#known().bootId,
      node: () => this.#facts(),
      serverContact: this.#serverContact.promise,
    }
  }

  #makeTaskHooks(): AgentHost['taskHooks'] {
    const { settings, allowsFileArtifacts = false } = this.#options
    const hooks = taskHooks({
      catalog: ({ assignment: { job, group }, task }) =>
        this.#catalog.forTask({
          jobId: job.ParentID || job.ID,
          group: group.Name,
          task: task.Name,
        }),
      allowsFileArtifacts,
      hostVolumes: () => settings.HostVolumes ?? {},
    })
    return [...hooks, serviceHook(this.#services)]
  }

  #makeGarbageWatch(): GarbageWatch {
    const { clock, log, storage, garbage } = this.#options
    return new GarbageWatch({
      clock,
      log,
      ...(garbage === undefined ? {} : { thresholds: garbage }),
      allocations: () => [...this.#runners.values()].map(({ id, endedMs }) => ({ id, endedMs })),
      fill: () => diskFill(dirname(storage.workspace.allocationDir('any'))),
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
      runners: this.#runners,
      mhzPerCore: () => {
        const { Cpu } = this.#registration().NodeResources
        return Cpu.CpuShares / Math.max(1, Cpu.TotalCpuCores)
      },
      checksOf: (id) => this.#services.checksOf(id),
    })
  }

  async #restore(): Promise<void> {
    const { storage, log } = this.#options
    const stored = await storage.store.load()
    const handles = stored.flatMap(({ tasks }) => Object.values(tasks).map((task) => task.handle))
    await storage.sweepRecords(new Set(handles.map((handle) => handle?.dir ?? '')))
    await sweepDrivers(handles, this.#options)
    for (const { assignment, tasks } of stored) this.#run(assignment, tasks)
    if (stored.length > 0) log.info({ allocations: stored.length }, 'took over allocations')
  }

  #run(assignment: Assignment, records: TaskRecords): void {
    assert(this.#host !== undefined, 'the host is made before anything runs')
    const runner = new AllocationRunner({
      host: this.#host,
      assignment,
      records,
      report: (report) => this.#link.report(report),
      endOf: (id) => this.#runners.get(id)?.ended ?? Promise.resolve(),
    })
    this.#runners.set(runner.id, runner)
    this.#answers.delete(runner.id)
    runner.start()
  }

  #hello(): HelloMessage {
    const { joinToken } = this.#options
    const { told } = this.#region
    return {
      kind: 'hello',
      version: CHANNEL_VERSION,
      node: this.#registration(),
      secret: this.#known().secret,
      ...(told === undefined ? {} : { region: told }),
      ...(joinToken === undefined ? {} : { joinToken }),
    }
  }

  #updates(): readonly AllocationUpdate[] {
    const running = [...this.#runners.values()].map((runner) => runner.currentReport())
    return [...running, ...this.#answers.values()]
  }

  #welcomed({ serverTimeMs, region }: WelcomeMessage): void {
    const { clock, log } = this.#options
    this.#region.welcomed(region)
    this.#listed = new Set()
    this.#services.welcomed()
    this.#catalog.welcomed()
    this.#migrations.welcomed()
    const skewMs = clock.nowMs() - serverTimeMs
    if (Math.abs(skewMs) > SKEW_MS_MAX) log.warn({ skewMs }, "this node's clock is wrong")
    log.info({ node: this.nodeId }, 'connected to a server')
  }

  #applyDesired(message: DesiredEnvelope): void {
    if (this.#stopping.signal.aborted) return
    for (const entry of message.allocations) {
      const assignment = readAssignment(entry)
      if (assignment.ok) this.#assign(assignment.value, message.full)
      else this.#reject(assignment.error.id, assignment.error.message)
      const id = assignment.ok ? assignment.value.allocation.ID : assignment.error.id
      if (id !== undefined) this.#listed.add(id)
    }
    for (const id of message.removed) this.#remove(id)
    this.#alone.review()
    if (!message.full || message.more === true) return
    const known = [...this.#runners.keys(), ...this.#answers.keys()]
    for (const id of known) if (!this.#listed.has(id)) this.#remove(id)
    this.#serverContact.resolve()
  }

  #watched(): readonly Watched[] {
    return [...this.#runners.values()].map((runner) => ({
      group: runner.group,
      stop: (reason) => runner.stop(reason),
    }))
  }

  /** `isListed`: it is part of what a server says to a node that has come to it. */
  #assign(assignment: Assignment, isListed: boolean): void {
    const { allocation } = assignment
    const runner = this.#runners.get(allocation.ID)
    if (runner !== undefined) {
      if (isListed && allocation.ClientStatus === 'unknown') tellReturn(runner.tasks)
      runner.update(assignment).catch((thrown: unknown) => {
        const fields = { allocation: allocation.ID, error: messageOf(thrown) }
        this.#options.log.error(fields, 'change of an allocation not saved')
      })
      return
    }
    // It ended here before, or the servers gave it up: nothing is to be done again.
    if (isClientTerminal(allocation)) return
    if (isServerTerminal(allocation))
      this.#answer(allocation.ID, 'complete', 'Ended before it began')
    else this.#run(assignment, {})
  }

  /** What cannot be read cannot be run; what already runs is left alone. */
  #reject(id: string | undefined, message: string): void {
    this.#options.log.error({ allocation: id, reason: message }, 'allocation not readable')
    if (id === undefined || this.#runners.has(id)) return
    this.#answer(id, 'failed', `The node cannot read the allocation: ${message}`)
  }

  #answer(id: string, status: 'complete' | 'failed', description: string): void {
    const update: AllocationUpdate = {
      ID: id,
      ClientStatus: status,
      ClientDescription: description,
      TaskStates: null,
    }
    this.#answers.set(id, update)
    this.#link.report(update)
  }

  #remove(id: string): void {
    this.#answers.delete(id)
    const runner = this.#runners.get(id)
    if (runner === undefined || this.#removing.has(id)) return
    this.#removing.add(id)
    void this.#destroy(runner).finally(() => this.#removing.delete(id))
  }

  /**
   * The record goes last: an agent that is killed in between finds it, and the servers say again to
   * remove it.
   */
  async #destroy(runner: AllocationRunner): Promise<void> {
    const { storage, log } = this.#options
    try {
      await runner.destroy()
      if (this.#stopping.signal.aborted) return
      await runner.halt()
      await storage.workspace.remove(runner.id)
      await storage.store.remove(runner.id)
      this.#services.ended(runner.id)
    } catch (thrown) {
      log.error({ allocation: runner.id, error: messageOf(thrown) }, 'allocation not removed')
    }
    this.#runners.delete(runner.id)
  }

  /** The node offers networks of its own making only where a trial went well. */
  async #withNetworks(found: Fingerprint): Promise<Fingerprint> {
    const { networks, log } = this.#options
    if (networks === undefined) return found
    await networks.open()
    const complaint = await networks.probe()
    if (complaint !== undefined) {
      log.info({ mode: networks.mode, reason: complaint }, 'no networks for allocations here')
      return found
    }
    const own = { Mode: networks.mode, Device: '', MacAddress: '', Speed: 0, Addresses: null }
    const NodeNetworks = [...(found.NodeResources.NodeNetworks ?? []), own]
    return { ...found, NodeResources: { ...found.NodeResources, NodeNetworks } }
  }

  #facts(): NodeFacts {
    const { ID, Name, Datacenter, NodePool, NodeClass, Attributes } = this.#registration()
    const { Meta, CgroupParent = '' } = this.#options.settings
    const own = { Region: this.#region.name, Meta, CgroupParent }
    return { ID, Name, Datacenter, NodePool, NodeClass, Attributes, ...own }
  }

  #registration(): NodeRegistration {
    assert(this.#fingerprint !== undefined, 'the machine is probed before it is described')
    const { Region: _, ...settings } = this.#options.settings
    const Attributes: Record<string, string> = { ...this.#fingerprint.Attributes }
    for (const info of Object.values(this.#driverInfo)) Object.assign(Attributes, info.Attributes)
    return {
      CgroupParent: '',
      ...settings,
      ID: this.nodeId,
      Attributes,
      NodeResources: this.#fingerprint.NodeResources,
      Drivers: this.#driverInfo,
      Links: null,
      HostNetworks: null,
    }
  }

  /** Reference scheduling §23: drivers come and go; the servers are told when one does. */
  async #probeAgain(clock: Clock): Promise<void> {
    while (await pause(clock, AGENT_LIMITS.fingerprintMs, this.#stopping.signal)) {
      const before = JSON.stringify(this.#registration())
      this.#driverInfo = await this.#probeDrivers()
      const node = this.#registration()
      if (JSON.stringify(node) !== before) this.#link.sendNode(node)
    }
  }

  async #probeDrivers(): Promise<Readonly<Record<string, DriverInfo>>> {
    const probes = this.#options.drivers.map(async (driver) => {
      return [driver.name, await this.#probeDriver(driver)] as const
    })
    return Object.fromEntries(await Promise.all(probes))
  }

  async #probeDriver(driver: TaskDriver): Promise<DriverInfo> {
    const { clock } = this.#options
    const ms = AGENT_LIMITS.probeMsMax
    const health = await withDeadline(driver.fingerprint(), { clock, ms, what: 'the probe' }).catch(
      (thrown: unknown) => ({
        detected: false,
        healthy: false,
        description: messageOf(thrown),
        attributes: {},
      }),
    )
    const known = this.#driverInfo[driver.name]
    const info = {
      Attributes: health.attributes,
      Detected: health.detected,
      Healthy: health.healthy,
      HealthDescription: health.description,
      UpdateTime: known?.UpdateTime ?? isoFromMs(clock.nowMs()),
    }
    // The time is that of the last change, so that an unchanged driver is no news.
    if (known !== undefined && JSON.stringify(known) === JSON.stringify(info)) return known
    return { ...info, UpdateTime: isoFromMs(clock.nowMs()) }
  }
}

/** Reference scheduling §1.4: the servers did not know for a while how these tasks were. */
function tellReturn(tasks: readonly TaskControl[]): void {
  const living = tasks.filter(({ state }) => state.State !== 'dead')
  for (const task of living) task.tell('Reconnected', 'The node has reached its servers again')
}

/** A larger difference between the clocks of node and server is worth a word. */
const SKEW_MS_MAX = 5_000
