import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { sleep, TAR_END, tarHeader, type TaskLaunch } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import { AGENT_LABEL, ALLOCATION_LABEL, NETWORK_LABEL } from './container-spec.ts'
import type { DockerConfig } from './docker-config.ts'
import { DOCKER_LIMITS, type DockerSettings } from './docker-policy.ts'
import { removeContainer } from './docker-task.ts'
import {
  sanitizeExternalText,
  isSuccess,
  getPath,
  numberAt,
  tryParseJson,
  errorMessageOf,
  stringAt,
  type EngineClient,
} from './engine-client.ts'
import { canonicalImageName, parseImageReference } from './image-reference.ts'
import type { ImagePuller, ImageRequest } from './image-puller.ts'
import { networkHostnameOf } from './network-files.ts'

/** Empty image; the helper is mounted into it. */
const PAUSE_IMAGE = 'localhost/reeve-pause'

const HELPER_PATH = '/reeve-pause'
const NAMESPACE_PATH = '/network'

/** Exit code of the helper if it cannot join the namespace (native/PROTOCOL.md). */
const STATUS_NOT_JOINED = 3

interface PauseContainersOptions {
  readonly engine: EngineClient
  readonly clock: Clock
  readonly images: ImagePuller
  readonly settings: Pick<DockerSettings, 'infraImage' | 'infraPullTimeoutMs'>
  readonly agentId: string
  /** The task helper; undefined if the node has none. */
  readonly helper: string | undefined
}

/** Returns the name of the container, which finds it before its ID is known. */
export function pauseContainerName(allocationId: string): string {
  return `reeve-network-${allocationId}`
}

/**
 * Pause containers, for engines that cannot join network namespaces by path. Each joins the
 * namespace that the agent created for an allocation, and the containers of the allocation join the
 * network of the pause container. The agent owns the namespace: a restarted pause container joins
 * it again, and addresses, ports and running tasks are unaffected.
 */
export class PauseContainers {
  readonly #options: PauseContainersOptions
  /** Joins in progress by allocation, because tasks of an allocation start at the same time. */
  readonly #joins = new Map<string, Promise<string>>()
  #imageImport: Promise<void> | undefined

  constructor(options: PauseContainersOptions) {
    this.#options = options
  }

  /** Pulls the configured image, which may take minutes. */
  async prepare(request: ImageRequest): Promise<void> {
    const image = this.#infraImage()
    if (image !== undefined) await this.#options.images.ensurePresent(image, request)
  }

  /** Returns the ID of a running container in the network of the allocation. */
  async join(launch: TaskLaunch, request: ImageRequest): Promise<string> {
    const { allocationId } = launch.handle
    const previous = this.#joins.get(allocationId) ?? Promise.resolve('')
    const next = previous.catch(() => undefined).then(() => this.#ensureRunning(launch, request))
    this.#joins.set(allocationId, next)
    return next.finally(() => {
      if (this.#joins.get(allocationId) === next) this.#joins.delete(allocationId)
    })
  }

  /** Idempotent. */
  remove(allocationId: string): Promise<void> {
    return removeContainer(this.#options.engine, pauseContainerName(allocationId))
  }

  async #ensureRunning(launch: TaskLaunch, request: ImageRequest): Promise<string> {
    const { network, handle } = launch
    assert(network.namespacePath !== undefined, 'the allocation has a network of its own')
    const inspected = await this.#inspect(pauseContainerName(handle.allocationId))
    const id = stringAt(inspected, 'Id')
    if (await isSameNamespace(numberAt(inspected, 'State', 'Pid'), network.namespacePath)) return id
    // Some engines do not remove a container that others depend on. It is replaced only if it
    // cannot be started again, because its program or its namespace has another path.
    const isRestarted = id !== '' && (await this.#restart(id, network.namespacePath))
    return isRestarted ? id : this.#replace(launch, request)
  }

  async #restart(id: string, namespacePath: string): Promise<boolean> {
    try {
      await this.#startOrRestart(id, 'restart')
      await this.#waitUntilJoined(id, namespacePath)
      return true
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === 'task-start') return false
      throw thrown
    }
  }

  async #replace(launch: TaskLaunch, request: ImageRequest): Promise<string> {
    const { network, handle } = launch
    await this.remove(handle.allocationId)
    const id = await this.#create(launch, request)
    try {
      await this.#startOrRestart(id, 'start')
      await this.#waitUntilJoined(id, network.namespacePath ?? '')
      return id
    } catch (thrown) {
      await removeContainer(this.#options.engine, id).catch(() => undefined)
      throw thrown
    }
  }

  async #create(launch: TaskLaunch, request: ImageRequest): Promise<string> {
    const query = { name: pauseContainerName(launch.handle.allocationId) }
    const call = {
      method: 'POST',
      path: '/containers/create',
      query,
      body: this.#spec(launch),
    } as const
    let response = await this.#options.engine.call(call)
    if (response.status === 404) {
      await this.#ensureImage(request)
      response = await this.#options.engine.call(call)
    }
    if (isSuccess(response)) return stringAt(tryParseJson(response.body), 'Id')
    throw new Fault(
      'task-start',
      `the pause container cannot be created: ${errorMessageOf(response)}`,
    )
  }

  /** Joining needs CAP_SYS_ADMIN; the helper drops it once it has joined. */
  #spec(launch: TaskLaunch): Readonly<Record<string, unknown>> {
    const { helper, agentId } = this.#options
    const { network, handle } = launch
    assert(helper !== undefined, 'the driver says why it has no pause containers')
    const infra = this.#infraImage()
    return {
      Image: infra === undefined ? PAUSE_IMAGE : canonicalImageName(infra.image),
      Entrypoint: [HELPER_PATH, 'pause', NAMESPACE_PATH],
      Cmd: [],
      User: '0:0',
      Hostname: networkHostnameOf(launch),
      Labels: {
        [NETWORK_LABEL]: handle.allocationId,
        [ALLOCATION_LABEL]: handle.allocationId,
        [AGENT_LABEL]: agentId,
      },
      Healthcheck: { Test: ['NONE'] },
      HostConfig: {
        NetworkMode: 'none',
        Binds: [
          `${helper}:${HELPER_PATH}:ro`,
          `${network.namespacePath ?? ''}:${NAMESPACE_PATH}:ro`,
        ],
        CapDrop: ['ALL'],
        CapAdd: ['CAP_SYS_ADMIN'],
        // The mounted files belong to the agent and have no SELinux label for containers.
        SecurityOpt: ['no-new-privileges', 'label=disable'],
        ReadonlyRootfs: true,
        PidsLimit: DOCKER_LIMITS.pausePidsMax,
        LogConfig: { Type: 'none', Config: {} },
        RestartPolicy: { Name: 'no' },
      },
    }
  }

  async #startOrRestart(id: string, action: 'start' | 'restart'): Promise<void> {
    const path = `/containers/${id}/${action}`
    const query = action === 'restart' ? { t: '0' } : {}
    const response = await this.#options.engine.call({ method: 'POST', path, query })
    if (isSuccess(response) || response.status === 304) return
    throw new Fault(
      'task-start',
      `the pause container cannot be started: ${errorMessageOf(response)}`,
    )
  }

  /**
   * The engine reports the container as running shortly before its program has joined the
   * namespace.
   */
  async #waitUntilJoined(id: string, namespacePath: string): Promise<void> {
    const { clock } = this.#options
    const deadlineMs = clock.monotonicMs() + DOCKER_LIMITS.pauseJoinTimeoutMs
    for (;;) {
      const state = getPath(await this.#inspect(id), 'State')
      if (await isSameNamespace(numberAt(state, 'Pid'), namespacePath)) return
      if (getPath(state, 'Running') !== true) throw notJoinedFault(numberAt(state, 'ExitCode'))
      if (clock.monotonicMs() > deadlineMs) throw notJoinedFault(undefined)
      await sleep(clock, DOCKER_LIMITS.pauseJoinPollIntervalMs)
    }
  }

  async #inspect(nameOrId: string): Promise<unknown> {
    const path = `/containers/${nameOrId}/json`
    const response = await this.#options.engine.call({ method: 'GET', path })
    if (response.status === 404) return undefined
    if (isSuccess(response)) return tryParseJson(response.body)
    throw new Fault('engine', errorMessageOf(response))
  }

  #infraImage(): Pick<DockerConfig, 'image' | 'pull'> | undefined {
    const { infraImage, infraPullTimeoutMs: timeoutMs } = this.#options.settings
    if (infraImage === '') return undefined
    const pullDefaults = { load: undefined, isForced: false, auth: undefined, isAuthSoft: false }
    return { image: parseImageReference(infraImage), pull: { ...pullDefaults, timeoutMs } }
  }

  #ensureImage(request: ImageRequest): Promise<void> {
    const image = this.#infraImage()
    if (image !== undefined) return this.#options.images.ensurePresent(image, request)
    this.#imageImport ??= this.#importImage().finally(() => (this.#imageImport = undefined))
    return this.#imageImport
  }

  /** Imports the empty image without a download. */
  async #importImage(): Promise<void> {
    const archive = Buffer.concat([tarHeader(HELPER_MOUNT_POINT), TAR_END])
    const response = await this.#options.engine.call({
      method: 'POST',
      path: '/images/create',
      query: { fromSrc: '-', repo: PAUSE_IMAGE },
      headers: { 'Content-Type': 'application/x-tar', 'Content-Length': String(archive.length) },
      upload: Readable.from([archive]),
    })
    const engineError = stringAt(
      tryParseJson(response.body.trim().split('\n').at(-1) ?? ''),
      'error',
    )
    if (isSuccess(response) && engineError === '') return
    const message =
      engineError === '' ? errorMessageOf(response) : sanitizeExternalText(engineError)
    throw new Fault('task-start', `the image of pause containers cannot be imported: ${message}`)
  }
}

const HELPER_MOUNT_POINT = {
  path: HELPER_PATH.slice(1),
  kind: 'file',
  mode: 0o755,
  uid: 0,
  gid: 0,
  size: 0,
  target: '',
} as const

/**
 * Reports whether a process is in the namespace: their files have the same inode. A missing process
 * is in none.
 */
async function isSameNamespace(pid: number, namespacePath: string): Promise<boolean> {
  if (pid <= 0) return false
  const [processNamespace, allocationNamespace] = await Promise.all(
    [`/proc/${pid}/ns/net`, namespacePath].map((path) => stat(path).catch(() => undefined)),
  )
  return (
    processNamespace !== undefined &&
    processNamespace.ino === allocationNamespace?.ino &&
    processNamespace.dev === allocationNamespace.dev
  )
}

function notJoinedFault(exitCode: number | undefined): Fault {
  const reason =
    exitCode === undefined
      ? 'its process is not one of this machine, or it took too long'
      : exitCode === STATUS_NOT_JOINED
        ? 'the container engine does not see the mounts of the agent, or forbids CAP_SYS_ADMIN'
        : `it ended with ${exitCode}`
  return new Fault(
    'task-start',
    `the pause container cannot join the network of the allocation: ${reason}. Let agent and ` +
      'container engine share the mounts and processes of the machine, or set network_mode',
  )
}
