import { createHash } from 'node:crypto'
import { readBootId } from '../proc/processes.ts'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type {
  DriverAddress,
  DriverContext,
  DriverHealth,
  LiveTasks,
  ReconcilingDriver,
  Reconciliation,
  Recovery,
  RunningTask,
  TaskHandle,
  TaskLaunch,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import {
  containerSpec,
  isInAllocationNetwork,
  isLogCollected,
  type ContainerInput,
} from './container-spec.ts'
import { ContainerCores } from './container-cores.ts'
import { readDockerConfig, type DockerConfig } from './docker-config.ts'
import { findDangling, ImageCollector, listContainers, type ListedContainer } from './docker-gc.ts'
import {
  requireAllowedByPolicy,
  DEFAULT_GC,
  type DockerGc,
  type DockerPolicy,
  DEFAULT_DOCKER_SETTINGS,
  type DockerSettings,
} from './docker-policy.ts'
import {
  containerAddressOf,
  DockerTask,
  ignoreUnavailable,
  readContainerRecord,
  removeContainer,
  rethrowAsUnavailable,
  writeContainerRecord,
  type ContainerRecord,
} from './docker-task.ts'
import {
  EngineClient,
  stringAt,
  type TcpEngine,
  getFromEngine,
  readEngineInfo,
  type EngineInfo,
} from './engine-client.ts'
import {
  requireAllowedSources,
  openMounts,
  requireVisibleMounts,
  type ContainerMounts,
  type MountRules,
  PinnedPaths,
} from './container-mounts.ts'
import { canonicalImageName } from './image-reference.ts'
import { ImagePuller } from './image-puller.ts'
import { PauseContainers, pauseContainerName } from './pause-containers.ts'
import { buildNetworkFiles } from './network-files.ts'
import {
  createTaskContainer,
  findTaskContainers,
  removeFailedStart,
  removeTaskContainers,
  startContainer,
} from './task-containers.ts'

/** Images that tasks used, kept across restarts of the agent. */
const IMAGES_FILE = 'docker-images.json'

/** Listing all containers of an engine takes some milliseconds. */
const RECONCILE_INTERVAL_MIN_MS = 500
const RECONCILE_INTERVAL_MAX_MS = 5 * 60_000

export interface DockerDriverOptions {
  readonly clock: Clock
  /** Socket of the engine; not used with TCP. */
  readonly socketPath?: string
  readonly tcp?: TcpEngine
  readonly policy: DockerPolicy
  readonly settings?: Partial<DockerSettings>
  /** File with registry logins in the format of the Docker client. */
  readonly authFile?: string
  /** Cleanup settings; the defaults unless given. */
  readonly gc?: DockerGc
  /**
   * Directory that is kept across restarts, and identifies this agent at the engine. Without it
   * remains of earlier agents are not removed, and volumes that tasks could swap are rejected.
   */
  readonly stateDir?: string
  /** The task helper of this node, which pause containers run. */
  readonly helper?: string | undefined
}

/**
 * Runs tasks in containers through the Engine API. The engine supervises them: containers survive
 * the agent and are found again by a label.
 */
export class DockerDriver implements ReconcilingDriver {
  readonly name = 'docker'
  readonly isolation = 'image'
  readonly reconcileIntervalMs: number
  readonly #options: DockerDriverOptions
  readonly #engineClient: EngineClient
  readonly #imagePuller: ImagePuller
  readonly #settings: DockerSettings
  readonly #gcSettings: DockerGc
  readonly #imageCollector: ImageCollector
  readonly #pauseContainers: PauseContainers
  readonly #containerCores: ContainerCores
  readonly #agentId: string
  /** Launches whose image was fetched by `prepare`. */
  readonly #preparedLaunches = new WeakSet<TaskLaunch>()
  #lastDanglingCheckMs = Number.NEGATIVE_INFINITY
  #leftoversReleased: Promise<void> | undefined
  /**
   * Information from the last response: a temporarily unavailable engine still counts as detected.
   */
  #engineInfo: EngineInfo | undefined

  constructor(options: DockerDriverOptions) {
    const { tcp, socketPath = '', clock, authFile } = options
    this.#options = options
    this.#settings = { ...DEFAULT_DOCKER_SETTINGS, ...options.settings }
    this.#engineClient = new EngineClient(tcp ?? socketPath)
    const settings = this.#settings
    this.#imagePuller = new ImagePuller({ engine: this.#engineClient, clock, authFile, settings })
    const { stateDir, gc = DEFAULT_GC } = options
    this.#gcSettings = gc
    this.#agentId = stateDir === undefined ? '' : agentIdOf(stateDir)
    const file = stateDir === undefined ? undefined : join(stateDir, IMAGES_FILE)
    this.#imageCollector = new ImageCollector({ engine: this.#engineClient, clock, gc, file })
    this.#pauseContainers = new PauseContainers({
      engine: this.#engineClient,
      clock,
      images: this.#imagePuller,
      settings,
      agentId: this.#agentId,
      helper: options.helper,
    })
    this.#containerCores = new ContainerCores({
      engine: this.#engineClient,
      coreCount: availableParallelism(),
      isPodman: () => this.#engineInfo?.networkAccess.kind === 'path',
    })
    this.reconcileIntervalMs = reconcileIntervalMsOf(gc)
  }

  async fingerprint(): Promise<DriverHealth> {
    await this.#releaseLeftovers()
    try {
      const { attributes } = await this.#readEngineInfo()
      await this.#containerCores.apply().catch(ignoreUnavailable)
      return { detected: true, healthy: true, description: 'Healthy', attributes }
    } catch (thrown) {
      const description = errorMessage(thrown)
      const attributes = this.#engineInfo?.attributes ?? {}
      return { detected: this.#engineInfo !== undefined, healthy: false, description, attributes }
    }
  }

  async #readEngineInfo(): Promise<EngineInfo> {
    const { policy, helper } = this.#options
    const hasHelper = helper !== undefined
    this.#engineInfo = await readEngineInfo(this.#engineClient, { policy, hasHelper })
    return this.#engineInfo
  }

  async prepare(launch: TaskLaunch, context: DriverContext): Promise<void> {
    const config = await this.#validate(launch)
    const imageRequest = { ...context, taskDir: launch.taskDir }
    await this.#withImageHeld(config, () => this.#imagePuller.ensure(config, imageRequest))
    if ((await this.#networkAccess(launch, config)) === 'pause')
      await this.#pauseContainers.prepare(imageRequest)
    this.#preparedLaunches.add(launch)
  }

  async start(launch: TaskLaunch, context: DriverContext = NO_CONTEXT): Promise<RunningTask> {
    const config = await this.#validate(launch)
    const imageRequest = { ...context, taskDir: launch.taskDir }
    return this.#withImageHeld(config, async () => {
      if (this.#preparedLaunches.has(launch))
        await this.#imagePuller.ensurePresent(config, imageRequest)
      else await this.#imagePuller.ensure(config, imageRequest)
      await this.#imageCollector.recordUse(canonicalImageName(config.image))
      return this.#runContainer(launch, config, context)
    })
  }

  /** Keeps the image of a start in progress from being removed. */
  async #withImageHeld<T>({ image }: DockerConfig, work: () => Promise<T>): Promise<T> {
    const release = await this.#imageCollector.hold(canonicalImageName(image))
    return work().finally(release)
  }

  async #runContainer(
    launch: TaskLaunch,
    config: DockerConfig,
    context: DriverContext,
  ): Promise<RunningTask> {
    // Opened after the image is present: until then another task could change what a path refers
    // to.
    await this.#releaseLeftovers()
    const mounts = await openMounts(config, this.#pathRules(launch))
    try {
      const networkContainer = await this.#networkContainer(launch, config, context)
      const spec = this.#buildSpec(launch, config, { ...mounts, networkContainer })
      const record = await this.#createAndRecord(launch, config, spec)
      await startContainer(this.#engineClient, record.containerId)
      const inspected = await this.#getFromEngine(`/containers/${record.containerId}/json`)
      await requireVisibleMounts(inspected, mounts)
      const address = containerAddressOf(inspected, record)
      const { handle, resources } = launch
      const sharedCores = resources.sharedCores ?? []
      return this.#createTask({ handle, record, address, context, sharedCores })
    } catch (thrown) {
      await removeFailedStart(this.#engineClient, launch.handle, {
        clock: this.#options.clock,
        signal: context.signal,
      })
      await rm(launch.handle.dir, { recursive: true, force: true })
      throwAsStartFault(thrown)
    } finally {
      // Remaining mounts are released by the next agent; a running task must not fail because of
      // them.
      await mounts.release().catch(() => undefined)
    }
  }

  /** Runs once per driver; mounts that cannot be released do not affect new starts. */
  #releaseLeftovers(): Promise<void> {
    const { stateDir } = this.#options
    if (stateDir === undefined) return Promise.resolve()
    this.#leftoversReleased ??= PinnedPaths.releaseLeftovers(stateDir).catch(() => undefined)
    return this.#leftoversReleased
  }

  /** Validates everything that does not need the image. */
  async #validate(launch: TaskLaunch): Promise<DockerConfig> {
    const config = readDockerConfig(launch.config)
    requireAllowedByPolicy(config, this.#options.policy, this.#settings)
    await requireAllowedSources(config, this.#pathRules(launch))
    const access = await this.#networkAccess(launch, config)
    const networkContainer =
      access === 'pause' ? pauseContainerName(launch.handle.allocationId) : undefined
    this.#buildSpec(launch, config, { binds: [], mounts: config.storage.mounts, networkContainer })
    return config
  }

  /** Fault `task-unstartable` if the task cannot join the network of its allocation. */
  async #networkAccess(
    launch: TaskLaunch,
    config: DockerConfig,
  ): Promise<'path' | 'pause' | undefined> {
    if (!isInAllocationNetwork(launch, config)) return undefined
    const { networkAccess } =
      this.#engineInfo ?? (await this.#readEngineInfo().catch(throwAsStartFault))
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
    for (const { path, text } of buildNetworkFiles(launch, config)) await writeFile(path, text)
    return this.#pauseContainers.join(launch, { ...context, taskDir: launch.taskDir })
  }

  async leaveNetwork(allocationId: string): Promise<void> {
    if (this.#engineInfo?.networkAccess.kind !== 'path')
      await this.#pauseContainers.remove(allocationId)
  }

  #pathRules(launch: TaskLaunch): MountRules {
    const { policy, stateDir, socketPath } = this.#options
    return { launch, allowsHostPaths: policy.allowVolumes, socketPath, stateDir }
  }

  #buildSpec(
    launch: TaskLaunch,
    config: DockerConfig,
    mountsAndNetwork: Pick<ContainerMounts, 'binds' | 'mounts'> &
      Pick<ContainerInput, 'networkContainer'>,
  ): Readonly<Record<string, unknown>> {
    return containerSpec({
      launch,
      config: { ...config, storage: { ...config.storage, mounts: mountsAndNetwork.mounts } },
      policy: this.#options.policy,
      settings: this.#settings,
      binds: mountsAndNetwork.binds,
      coreCount: availableParallelism(),
      runtimes: this.#engineInfo?.runtimes ?? [],
      networkContainer: mountsAndNetwork.networkContainer,
      agentId: this.#agentId,
    })
  }

  async recover(handle: TaskHandle, context: DriverContext = NO_CONTEXT): Promise<Recovery> {
    const bootId = await readBootId()
    if (handle.bootId === bootId)
      return this.#recoverContainer(handle, context).catch(rethrowAsUnavailable)
    // No container survives a reboot, so an engine that is not up yet is not waited for.
    await removeTaskContainers(this.#engineClient, handle).catch(() => undefined)
    const isStarted = (await readContainerRecord(handle)) !== undefined
    const lost = { kind: 'lost', reason: 'the machine was restarted' } as const
    return isStarted ? lost : { kind: 'never-started' }
  }

  async #recoverContainer(handle: TaskHandle, context: DriverContext): Promise<Recovery> {
    const [container] = await findTaskContainers(this.#engineClient, handle)
    const record = await readContainerRecord(handle)
    if (container === undefined && record === undefined) return { kind: 'never-started' }
    if (container === undefined) return { kind: 'lost', reason: 'the container was removed' }
    // The container was created but not started, and is never started later.
    if (record === undefined || stringAt(container, 'State') === 'created') {
      await removeTaskContainers(this.#engineClient, handle)
      return { kind: 'never-started' }
    }
    const path = `/containers/${record.containerId}/json`
    const address = containerAddressOf(
      await this.#getFromEngine(path).catch(() => undefined),
      record,
    )
    return { kind: 'attached', task: this.#createTask({ handle, record, address, context }) }
  }

  #createTask(options: {
    readonly handle: TaskHandle
    readonly record: ContainerRecord
    readonly address: DriverAddress | undefined
    readonly context: DriverContext
    /** Shared cores at the start; undefined if an earlier agent started the task. */
    readonly sharedCores?: readonly number[]
  }): DockerTask {
    const { context, sharedCores, ...taskOptions } = options
    const { containerId, sharesCores } = taskOptions.record
    const task = new DockerTask({
      ...taskOptions,
      engine: this.#engineClient,
      clock: this.#options.clock,
      report: (message) => context.report(message),
      keepsContainer: !this.#gcSettings.removesContainers,
    })
    if (sharesCores === true) {
      void this.#containerCores.add(containerId, sharedCores).catch(() => undefined)
      void task.exited.then(() => this.#containerCores.delete(containerId))
    }
    return task
  }

  /** Containers on an unavailable engine are moved after the next fingerprint. */
  shareCores(cores: readonly number[]): Promise<void> {
    return this.#containerCores.setSharedCores(cores).catch(ignoreUnavailable)
  }

  async reconcile(tasks: LiveTasks): Promise<Reconciliation> {
    const containers = await listContainers(this.#engineClient)
    const dangling = this.#findDangling(containers, tasks)
    const { isDryRun } = this.#gcSettings.dangling
    if (!isDryRun) for (const { id } of dangling) await removeContainer(this.#engineClient, id)
    const images = await this.#imageCollector.collect({
      containerImageIds: new Set(containers.map(({ imageId }) => imageId)),
      taskImageNames: tasks.configs
        .map((config) => stringAt(config, 'image'))
        .filter((name) => name !== ''),
    })
    return { removedContainers: dangling.map(({ id }) => id), removedImages: images, isDryRun }
  }

  #findDangling(
    containers: readonly ListedContainer[],
    tasks: LiveTasks,
  ): readonly ListedContainer[] {
    const { dangling, removesContainers: removesEnded } = this.#gcSettings
    const { clock } = this.#options
    const nowMs = clock.monotonicMs()
    if (!dangling.isEnabled || nowMs - this.#lastDanglingCheckMs < dangling.periodMs) return []
    this.#lastDanglingCheckMs = nowMs
    const criteria = { agentId: this.#agentId, tasks, removesEnded }
    return findDangling(containers, {
      ...criteria,
      nowMs: clock.nowMs(),
      graceMs: dangling.graceMs,
    })
  }

  #getFromEngine(path: string): Promise<unknown> {
    return getFromEngine(this.#engineClient, path)
  }

  async #createAndRecord(
    launch: TaskLaunch,
    config: DockerConfig,
    spec: Readonly<Record<string, unknown>>,
  ): Promise<ContainerRecord> {
    const { handle, logs, resources } = launch
    await mkdir(handle.dir, { recursive: true, mode: 0o700 })
    const containerId = await createTaskContainer(this.#engineClient, handle, spec)
    const record: ContainerRecord = {
      containerId,
      logs: isLogCollected(config, this.#settings) ? (logs ?? null) : null,
      isTty: config.process.tty,
      hasMemoryLimit: resources.memoryMB > 0,
      isIpv6Advertised: config.network.isIpv6Advertised,
      sharesCores: resources.cores.length === 0 && config.limits.cpuset === undefined,
    }
    await writeContainerRecord(handle, record)
    return record
  }
}

/** Identifies agents by their data directory, which only one agent can lock. */
function agentIdOf(stateDir: string): string {
  return createHash('sha256').update(stateDir).digest('hex').slice(0, 12)
}

/** Interval for the more frequent of both cleanups, within limits. */
function reconcileIntervalMsOf({ dangling, removesImages, imageDelayMs }: DockerGc): number {
  const containersMs = dangling.isEnabled ? dangling.periodMs : RECONCILE_INTERVAL_MAX_MS
  const imagesMs = removesImages ? imageDelayMs / 3 : RECONCILE_INTERVAL_MAX_MS
  return Math.max(
    RECONCILE_INTERVAL_MIN_MS,
    Math.min(containersMs, imagesMs, RECONCILE_INTERVAL_MAX_MS),
  )
}

/** Context of a start that cannot be interrupted and whose events are dropped. */
const NO_CONTEXT: DriverContext = { signal: new AbortController().signal, report: () => undefined }

/** An unavailable engine may respond to the next start. */
function throwAsStartFault(thrown: unknown): never {
  if (!(thrown instanceof Fault) || thrown.kind !== 'engine') throw thrown
  throw new Fault('task-start', thrown.message, { cause: thrown })
}
