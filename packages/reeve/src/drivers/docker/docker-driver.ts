import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type {
  DriverAddress,
  DriverContext,
  DriverHealth,
  NodeTasks,
  ReconcilingDriver,
  Reconciliation,
  Recovery,
  RunningTask,
  TaskHandle,
  TaskLaunch,
} from '../../agent/index.ts'
import { pause } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import {
  containerSpec,
  isInAllocationNetwork,
  isLogCollected,
  START_LABEL,
  type ContainerInput,
} from './container-spec.ts'
import { ContainerCores } from './container-cores.ts'
import { readDockerConfig, type DockerConfig } from './docker-config.ts'
import { findDangling, listContainers, type ListedContainer } from './dangling-containers.ts'
import { checkAllowed, DEFAULT_GC, type DockerGc, type DockerPolicy } from './docker-policy.ts'
import { DEFAULT_DOCKER_SETTINGS, type DockerSettings } from './docker-settings.ts'
import {
  addressOf,
  DockerTask,
  ignoreAway,
  readRecord,
  removeContainer,
  throwAway,
  writeRecord,
  type ContainerRecord,
} from './docker-task.ts'
import { Engine, isSuccess, parsed, refusalText, textAt, type TcpEngine } from './engine.ts'
import { askEngine, readEngineFacts, type EngineFacts } from './engine-facts.ts'
import {
  checkPaths,
  openMounts,
  requireMounts,
  type ContainerMounts,
  type PathRules,
} from './host-paths.ts'
import { ImageCollector } from './image-collector.ts'
import { localName } from './image-reference.ts'
import { Images } from './images.ts'
import { NetworkContainers, networkContainerName } from './network-containers.ts'
import { networkFiles } from './network-files.ts'
import { PinnedPaths } from './pinned-paths.ts'

const BOOT_ID = '/proc/sys/kernel/random/boot_id'

/** The images that tasks used, from one agent to the next. */
const IMAGES_FILE = 'docker-images.json'

/** Listing all containers of an engine takes some milliseconds. */
const RECONCILE_MS_MIN = 500
const RECONCILE_MS_MAX = 5 * 60_000

/**
 * How long an engine that went away during a start is waited for, to remove what it may have
 * started. What is left after that is a dangling container.
 */
const CLEANUP_MS_MAX = 30_000
const CLEANUP_RETRY_MS = 1_000

export interface DockerDriverOptions {
  readonly clock: Clock
  /** Where the engine listens; not asked for when it listens on TCP. */
  readonly socketPath?: string
  readonly tcp?: TcpEngine
  readonly policy: DockerPolicy
  readonly settings?: Partial<DockerSettings>
  /** Logins by registry, as the engine's own client writes them. */
  readonly authFile?: string
  /** What is removed from the engine when no task needs it; the defaults unless given. */
  readonly gc?: DockerGc
  /**
   * A directory that is kept from one agent to the next, and tells this agent from others at the
   * engine. Without one nothing that an agent before this one left is removed, and volumes that
   * tasks could swap are refused.
   */
  readonly stateDir?: string
  /** The task helper of this node, which pause containers run. */
  readonly helper?: string | undefined
}

/**
 * Runs tasks in containers of an engine that speaks the Engine API. The engine is the supervisor:
 * containers survive the agent, and are found again by a label.
 */
export class DockerDriver implements ReconcilingDriver {
  readonly name = 'docker'
  readonly isolation = 'image'
  readonly reconcileMs: number
  readonly #options: DockerDriverOptions
  readonly #engine: Engine
  readonly #images: Images
  readonly #settings: DockerSettings
  readonly #gc: DockerGc
  readonly #collector: ImageCollector
  readonly #networks: NetworkContainers
  readonly #cores: ContainerCores
  readonly #agentId: string
  /** Launches whose image was fetched by `prepare`. */
  readonly #prepared = new WeakSet<TaskLaunch>()
  #danglingCheckedMs = Number.NEGATIVE_INFINITY
  #swept: Promise<void> | undefined
  /** Of the engine that answered last: one that is away for a while is still here. */
  #facts: EngineFacts | undefined

  constructor(options: DockerDriverOptions) {
    const { tcp, socketPath = '', clock, authFile } = options
    this.#options = options
    this.#settings = { ...DEFAULT_DOCKER_SETTINGS, ...options.settings }
    this.#engine = new Engine(tcp ?? socketPath)
    const settings = this.#settings
    this.#images = new Images({ engine: this.#engine, clock, authFile, settings })
    const { stateDir, gc = DEFAULT_GC } = options
    this.#gc = gc
    this.#agentId = stateDir === undefined ? '' : agentIdOf(stateDir)
    const file = stateDir === undefined ? undefined : join(stateDir, IMAGES_FILE)
    this.#collector = new ImageCollector({ engine: this.#engine, clock, gc, file })
    this.#networks = new NetworkContainers({
      engine: this.#engine,
      clock,
      images: this.#images,
      settings,
      agentId: this.#agentId,
      helper: options.helper,
    })
    this.#cores = new ContainerCores({
      engine: this.#engine,
      coreCount: availableParallelism(),
      isPodman: () => this.#facts?.networkAccess.kind === 'path',
    })
    this.reconcileMs = reconcileMs(gc)
  }

  async fingerprint(): Promise<DriverHealth> {
    await this.#releaseLeftovers()
    try {
      const { attributes } = await this.#readFacts()
      await this.#cores.apply().catch(ignoreAway)
      return { detected: true, healthy: true, description: 'Healthy', attributes }
    } catch (thrown) {
      const description = errorMessage(thrown)
      const attributes = this.#facts?.attributes ?? {}
      return { detected: this.#facts !== undefined, healthy: false, description, attributes }
    }
  }

  async #readFacts(): Promise<EngineFacts> {
    const { policy, helper } = this.#options
    const hasHelper = helper !== undefined
    this.#facts = await readEngineFacts(this.#engine, { policy, hasHelper })
    return this.#facts
  }

  async prepare(launch: TaskLaunch, context: DriverContext): Promise<void> {
    const config = await this.#validate(launch)
    const wish = { ...context, taskDir: launch.taskDir }
    await this.#holding(config, () => this.#images.ensure(config, wish))
    if ((await this.#networkAccess(launch, config)) === 'pause') await this.#networks.prepare(wish)
    this.#prepared.add(launch)
  }

  async start(launch: TaskLaunch, context: DriverContext = ALONE): Promise<RunningTask> {
    const config = await this.#validate(launch)
    const wish = { ...context, taskDir: launch.taskDir }
    return this.#holding(config, async () => {
      if (this.#prepared.has(launch)) await this.#images.ensureStill(config, wish)
      else await this.#images.ensure(config, wish)
      await this.#collector.note(localName(config.image))
      return this.#run(launch, config, context)
    })
  }

  /** The image of a start that is under way is not removed. */
  async #holding<T>({ image }: DockerConfig, work: () => Promise<T>): Promise<T> {
    const release = await this.#collector.hold(localName(image))
    return work().finally(release)
  }

  async #run(
    launch: TaskLaunch,
    config: DockerConfig,
    context: DriverContext,
  ): Promise<RunningTask> {
    // Not before the image is there: a task of the allocation may change what a path leads to.
    await this.#releaseLeftovers()
    const mounts = await openMounts(config, this.#pathRules(launch))
    try {
      const networkContainer = await this.#networkContainer(launch, config, context)
      const spec = this.#spec(launch, config, { ...mounts, networkContainer })
      const record = await this.#create(launch, config, spec)
      await this.#begin(record.containerId)
      const described = await this.#ask(`/containers/${record.containerId}/json`)
      await requireMounts(described, mounts)
      const address = addressOf(described, record)
      const { handle, resources } = launch
      const sharedCores = resources.sharedCores ?? []
      return this.#makeTask({ handle, record, address, context, sharedCores })
    } catch (thrown) {
      await this.#removeRemains(launch.handle, context.signal)
      await rm(launch.handle.dir, { recursive: true, force: true })
      throwAsStart(thrown)
    } finally {
      // What stays is released by the next agent; a task that runs must not be lost for it.
      await mounts.release().catch(() => undefined)
    }
  }

  /** Once in the life of this driver; mounts that cannot be released do no harm to new starts. */
  #releaseLeftovers(): Promise<void> {
    const { stateDir } = this.#options
    if (stateDir === undefined) return Promise.resolve()
    this.#swept ??= PinnedPaths.sweep(stateDir).catch(() => undefined)
    return this.#swept
  }

  /** Rejects what can be rejected before an image is pulled. */
  async #validate(launch: TaskLaunch): Promise<DockerConfig> {
    const config = readDockerConfig(launch.config)
    checkAllowed(config, this.#options.policy, this.#settings)
    await checkPaths(config, this.#pathRules(launch))
    const access = await this.#networkAccess(launch, config)
    const networkContainer =
      access === 'pause' ? networkContainerName(launch.handle.allocationId) : undefined
    this.#spec(launch, config, { binds: [], mounts: config.storage.mounts, networkContainer })
    return config
  }

  /** Fault `task-unstartable` where the task cannot be in the network of its allocation. */
  async #networkAccess(
    launch: TaskLaunch,
    config: DockerConfig,
  ): Promise<'path' | 'pause' | undefined> {
    if (!isInAllocationNetwork(launch, config)) return undefined
    const { networkAccess } = this.#facts ?? (await this.#readFacts().catch(throwAsStart))
    if (networkAccess.kind !== 'none') return networkAccess.kind
    throw new Fault(
      'task-unstartable',
      `containers of this node cannot join the network ${JSON.stringify(launch.network.mode)} of ` +
        `their allocation: ${networkAccess.problem}; set network_mode`,
    )
  }

  async #networkContainer(
    launch: TaskLaunch,
    config: DockerConfig,
    context: DriverContext,
  ): Promise<string | undefined> {
    if ((await this.#networkAccess(launch, config)) !== 'pause') return undefined
    await mkdir(launch.handle.dir, { recursive: true, mode: 0o700 })
    for (const { path, text } of networkFiles(launch, config)) await writeFile(path, text)
    return this.#networks.join(launch, { ...context, taskDir: launch.taskDir })
  }

  async leaveNetwork(allocationId: string): Promise<void> {
    if (this.#facts?.networkAccess.kind !== 'path') await this.#networks.remove(allocationId)
  }

  #pathRules(launch: TaskLaunch): PathRules {
    const { policy, stateDir, socketPath } = this.#options
    return { launch, allowOutside: policy.allowVolumes, socketPath, stateDir }
  }

  #spec(
    launch: TaskLaunch,
    config: DockerConfig,
    given: Pick<ContainerMounts, 'binds' | 'mounts'> & Pick<ContainerInput, 'networkContainer'>,
  ): Readonly<Record<string, unknown>> {
    return containerSpec({
      launch,
      config: { ...config, storage: { ...config.storage, mounts: given.mounts } },
      policy: this.#options.policy,
      settings: this.#settings,
      binds: given.binds,
      coreCount: availableParallelism(),
      runtimes: this.#facts?.runtimes ?? [],
      networkContainer: given.networkContainer,
      agentId: this.#agentId,
    })
  }

  async recover(handle: TaskHandle, context: DriverContext = ALONE): Promise<Recovery> {
    const bootId = (await readFile(BOOT_ID, 'utf8')).trim()
    if (handle.bootId === bootId) return this.#find(handle, context).catch(throwAway)
    // No container runs on after that, so an engine that is not up yet need not be waited for.
    await this.#removeAll(handle).catch(() => undefined)
    const isStarted = (await readRecord(handle)) !== undefined
    const lost = { kind: 'lost', reason: 'the machine was restarted' } as const
    return isStarted ? lost : { kind: 'never-started' }
  }

  /** An engine that went away during a start may have started the container all the same. */
  async #removeRemains(handle: TaskHandle, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const endMs = clock.monotonicMs() + CLEANUP_MS_MAX
    for (;;) {
      const isRemoved = await this.#removeAll(handle).then(
        () => true,
        () => false,
      )
      if (isRemoved || clock.monotonicMs() > endMs) return
      if (!(await pause(clock, CLEANUP_RETRY_MS, signal))) return
    }
  }

  async #find(handle: TaskHandle, context: DriverContext): Promise<Recovery> {
    const [container] = await this.#containersOf(handle)
    const record = await readRecord(handle)
    if (container === undefined && record === undefined) return { kind: 'never-started' }
    if (container === undefined) return { kind: 'lost', reason: 'the container was removed' }
    // Created is not started: nobody is left to start it, and now nobody can.
    if (record === undefined || textAt(container, 'State') === 'created') {
      await this.#removeAll(handle)
      return { kind: 'never-started' }
    }
    const path = `/containers/${record.containerId}/json`
    const address = addressOf(await this.#ask(path).catch(() => undefined), record)
    return { kind: 'attached', task: this.#makeTask({ handle, record, address, context }) }
  }

  #makeTask(parts: {
    readonly handle: TaskHandle
    readonly record: ContainerRecord
    readonly address: DriverAddress | undefined
    readonly context: DriverContext
    /** Those of the start; undefined when an agent before this one started it. */
    readonly sharedCores?: readonly number[]
  }): DockerTask {
    const { context, sharedCores, ...own } = parts
    const { containerId, sharesCores } = own.record
    const task = new DockerTask({
      ...own,
      engine: this.#engine,
      clock: this.#options.clock,
      report: (message) => context.report(message),
      keepsContainer: !this.#gc.removesContainers,
    })
    if (sharesCores === true) {
      void this.#cores.add(containerId, sharedCores).catch(() => undefined)
      void task.exited.then(() => this.#cores.delete(containerId))
    }
    return task
  }

  /** An engine that is away moves them when it is probed again. */
  shareCores(cores: readonly number[]): Promise<void> {
    return this.#cores.set(cores).catch(ignoreAway)
  }

  async reconcile(tasks: NodeTasks): Promise<Reconciliation> {
    const containers = await listContainers(this.#engine)
    const dangling = this.#findDangling(containers, tasks)
    const { isDryRun } = this.#gc.dangling
    if (!isDryRun) for (const { id } of dangling) await removeContainer(this.#engine, id)
    const images = await this.#collector.collect({
      containerImages: new Set(containers.map(({ imageId }) => imageId)),
      taskImages: tasks.configs
        .map((config) => textAt(config, 'image'))
        .filter((name) => name !== ''),
    })
    return { containers: dangling.map(({ id }) => id), images, isDryRun }
  }

  #findDangling(
    containers: readonly ListedContainer[],
    tasks: NodeTasks,
  ): readonly ListedContainer[] {
    const { dangling, removesContainers: removesEnded } = this.#gc
    const { clock } = this.#options
    const nowMs = clock.monotonicMs()
    if (!dangling.isEnabled || nowMs - this.#danglingCheckedMs < dangling.periodMs) return []
    this.#danglingCheckedMs = nowMs
    const own = { agentId: this.#agentId, tasks, removesEnded }
    return findDangling(containers, { ...own, nowMs: clock.nowMs(), graceMs: dangling.graceMs })
  }

  #ask(path: string): Promise<unknown> {
    return askEngine(this.#engine, path)
  }

  async #create(
    launch: TaskLaunch,
    config: DockerConfig,
    spec: Readonly<Record<string, unknown>>,
  ): Promise<ContainerRecord> {
    const { handle, logs, resources } = launch
    await mkdir(handle.dir, { recursive: true, mode: 0o700 })
    const containerId = await this.#createContainer(handle, spec)
    const record: ContainerRecord = {
      containerId,
      logs: isLogCollected(config, this.#settings) ? (logs ?? null) : null,
      isTty: config.process.tty,
      hasMemoryLimit: resources.memoryMB > 0,
      isIpv6Advertised: config.network.isIpv6Advertised,
      sharesCores: resources.cores.length === 0 && config.limits.cpuset === undefined,
    }
    await writeRecord(handle, record)
    return record
  }

  async #createContainer(
    handle: TaskHandle,
    spec: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const call = {
      method: 'POST',
      path: '/containers/create',
      query: { name: `reeve-${handle.id}` },
      body: spec,
    } as const
    let answer = await this.#engine.call(call)
    // Each start has a name of its own: one that is taken is a rest of this very start.
    if (answer.status === 409 && (await this.#removeAll(handle)) > 0) {
      answer = await this.#engine.call(call)
    }
    if (isSuccess(answer)) return textAt(parsed(answer.text), 'Id')
    const kind = answer.status === 400 || answer.status === 404 ? 'task-unstartable' : 'task-start'
    throw new Fault(kind, `the container cannot be made: ${refusalText(answer)}`)
  }

  async #begin(containerId: string): Promise<void> {
    const path = `/containers/${containerId}/start`
    const answer = await this.#engine.call({ method: 'POST', path })
    // 304: it runs already.
    if (isSuccess(answer) || answer.status === 304) return
    const text = refusalText(answer)
    const kind = UNSTARTABLE.test(text) ? 'task-unstartable' : 'task-start'
    throw new Fault(kind, `the container cannot be started: ${text}`)
  }

  async #containersOf(handle: TaskHandle): Promise<readonly unknown[]> {
    const filters = JSON.stringify({ label: [`${START_LABEL}=${handle.id}`] })
    const call = {
      method: 'GET',
      path: '/containers/json',
      query: { all: 'true', filters },
    } as const
    const answer = await this.#engine.call(call)
    if (!isSuccess(answer)) throw new Fault('engine', refusalText(answer))
    const list = parsed(answer.text)
    return Array.isArray(list) ? list : []
  }

  /** Ends and removes every container of this start; tells how many there were. */
  async #removeAll(handle: TaskHandle): Promise<number> {
    const containers = await this.#containersOf(handle)
    for (const container of containers) await removeContainer(this.#engine, textAt(container, 'Id'))
    return containers.length
  }
}

/** The engine knows agents by their data directories: it could not mount one of that name twice. */
function agentIdOf(stateDir: string): string {
  return createHash('sha256').update(stateDir).digest('hex').slice(0, 12)
}

/** Often enough for the shorter of both, and never all the time. */
function reconcileMs({ dangling, removesImages, imageDelayMs }: DockerGc): number {
  const containersMs = dangling.isEnabled ? dangling.periodMs : RECONCILE_MS_MAX
  const imagesMs = removesImages ? imageDelayMs / 3 : RECONCILE_MS_MAX
  return Math.max(RECONCILE_MS_MIN, Math.min(containersMs, imagesMs, RECONCILE_MS_MAX))
}

/** Of a start that nobody interrupts, and that nobody listens to. */
const ALONE: DriverContext = { signal: new AbortController().signal, report: () => undefined }

/** An engine that cannot be asked now may answer the next start. */
function throwAsStart(thrown: unknown): never {
  if (!(thrown instanceof Fault) || thrown.kind !== 'engine') throw thrown
  throw new Fault('task-start', thrown.message, { cause: thrown })
}

/** What another try would meet again. */
const UNSTARTABLE =
  /executable file|no such file|not found|permission denied|exec format|unable to find user|no matching entries|not a directory/i
