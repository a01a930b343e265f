import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pause, TAR_END, tarHeader, type TaskLaunch } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import { AGENT_LABEL, ALLOCATION_LABEL, NETWORK_LABEL } from './container-spec.ts'
import type { DockerConfig } from './docker-config.ts'
import { DOCKER_LIMITS } from './docker-limits.ts'
import type { DockerSettings } from './docker-settings.ts'
import { removeContainer } from './docker-task.ts'
import {
  foreignText,
  isSuccess,
  member,
  numberAt,
  parsed,
  refusalText,
  textAt,
  type Engine,
} from './engine.ts'
import { localName, parseImageReference } from './image-reference.ts'
import type { Images, ImageWish } from './images.ts'
import { networkHostname } from './network-files.ts'

/** Holds nothing but the place at which the helper is mounted. */
const OWN_IMAGE = 'localhost/reeve-pause'

const HELPER_PATH = '/reeve-pause'
const NAMESPACE_PATH = '/network'

/** native/PROTOCOL.md: what the helper ends with when it cannot join. */
const STATUS_NOT_JOINED = 3

interface NetworkContainersOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly images: Images
  readonly settings: Pick<DockerSettings, 'infraImage' | 'infraPullTimeoutMs'>
  readonly agentId: string
  /** The task helper; undefined where none was built. */
  readonly helper: string | undefined
}

/** How engines are asked for it before its id is known. */
export function networkContainerName(allocationId: string): string {
  return `reeve-network-${allocationId}`
}

/**
 * Pause containers, for engines that join no network namespace by its path. Each joins the one
 * that the agent created for an allocation, and the containers of the allocation join the pause
 * container. The namespace is the agent's: a pause container that died joins it again, and address,
 * ports and tasks that run stay as they are.
 */
export class NetworkContainers {
  readonly #options: NetworkContainersOptions
  /** Joins under way, by allocation: its tasks start at the same time. */
  readonly #joins = new Map<string, Promise<string>>()
  #imported: Promise<void> | undefined

  constructor(options: NetworkContainersOptions) {
    this.#options = options
  }

  /** Fetches the image of the node's settings, which may take minutes. */
  async prepare(wish: ImageWish): Promise<void> {
    const image = this.#infraImage()
    if (image !== undefined) await this.#options.images.ensureStill(image, wish)
  }

  /** The id of a container that runs in the network of the allocation. */
  async join(launch: TaskLaunch, wish: ImageWish): Promise<string> {
    const { allocationId } = launch.handle
    const before = this.#joins.get(allocationId) ?? Promise.resolve('')
    const next = before.catch(() => undefined).then(() => this.#ensure(launch, wish))
    this.#joins.set(allocationId, next)
    return next.finally(() => {
      if (this.#joins.get(allocationId) === next) this.#joins.delete(allocationId)
    })
  }

  /** Idempotent. */
  remove(allocationId: string): Promise<void> {
    return removeContainer(this.#options.engine, networkContainerName(allocationId))
  }

  async #ensure(launch: TaskLaunch, wish: ImageWish): Promise<string> {
    const { network, handle } = launch
    assert(network.namespacePath !== undefined, 'the allocation has a network of its own')
    const found = await this.#inspect(networkContainerName(handle.allocationId))
    const id = textAt(found, 'Id')
    if (await isSameNamespace(numberAt(found, 'State', 'Pid'), network.namespacePath)) return id
    // Some engines remove no container that others depend on: it is replaced where it cannot be
    // started again, because its program or its namespace was another file.
    const isBack = id !== '' && (await this.#restart(id, network.namespacePath))
    return isBack ? id : this.#replace(launch, wish)
  }

  async #restart(id: string, namespacePath: string): Promise<boolean> {
    try {
      await this.#begin(id, 'restart')
      await this.#awaitNamespace(id, namespacePath)
      return true
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === 'task-start') return false
      throw thrown
    }
  }

  async #replace(launch: TaskLaunch, wish: ImageWish): Promise<string> {
    const { network, handle } = launch
    await this.remove(handle.allocationId)
    const id = await this.#create(launch, wish)
    try {
      await this.#begin(id, 'start')
      await this.#awaitNamespace(id, network.namespacePath ?? '')
      return id
    } catch (thrown) {
      await removeContainer(this.#options.engine, id).catch(() => undefined)
      throw thrown
    }
  }

  async #create(launch: TaskLaunch, wish: ImageWish): Promise<string> {
    const query = { name: networkContainerName(launch.handle.allocationId) }
    const call = {
      method: 'POST',
      path: '/containers/create',
      query,
      body: this.#spec(launch),
    } as const
    let answer = await this.#options.engine.call(call)
    if (answer.status === 404) {
      await this.#provideImage(wish)
      answer = await this.#options.engine.call(call)
    }
    if (isSuccess(answer)) return textAt(parsed(answer.text), 'Id')
    throw new Fault('task-start', `the pause container cannot be created: ${refusalText(answer)}`)
  }

  /** Joining needs CAP_SYS_ADMIN; the helper drops it once it has joined. */
  #spec(launch: TaskLaunch): Readonly<Record<string, unknown>> {
    const { helper, agentId } = this.#options
    const { network, handle } = launch
    assert(helper !== undefined, 'the driver says why it has no pause containers')
    const infra = this.#infraImage()
    return {
      Image: infra === undefined ? OWN_IMAGE : localName(infra.image),
      Entrypoint: [HELPER_PATH, 'pause', NAMESPACE_PATH],
      Cmd: [],
      User: '0:0',
      Hostname: networkHostname(launch),
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
        // The files are the agent's own, which it does not label for containers.
        SecurityOpt: ['no-new-privileges', 'label=disable'],
        ReadonlyRootfs: true,
        PidsLimit: DOCKER_LIMITS.pausePidsMax,
        LogConfig: { Type: 'none', Config: {} },
        RestartPolicy: { Name: 'no' },
      },
    }
  }

  async #begin(id: string, how: 'start' | 'restart'): Promise<void> {
    const path = `/containers/${id}/${how}`
    const query = how === 'restart' ? { t: '0' } : {}
    const answer = await this.#options.engine.call({ method: 'POST', path, query })
    if (isSuccess(answer) || answer.status === 304) return
    throw new Fault('task-start', `the pause container cannot be started: ${refusalText(answer)}`)
  }

  /** A container counts as running a moment before its program has joined the namespace. */
  async #awaitNamespace(id: string, namespacePath: string): Promise<void> {
    const { clock } = this.#options
    const endMs = clock.monotonicMs() + DOCKER_LIMITS.pauseJoinMsMax
    for (;;) {
      const state = member(await this.#inspect(id), 'State')
      if (await isSameNamespace(numberAt(state, 'Pid'), namespacePath)) return
      if (member(state, 'Running') !== true) throw notJoined(numberAt(state, 'ExitCode'))
      if (clock.monotonicMs() > endMs) throw notJoined(undefined)
      await pause(clock, DOCKER_LIMITS.pauseJoinPollMs)
    }
  }

  async #inspect(nameOrId: string): Promise<unknown> {
    const path = `/containers/${nameOrId}/json`
    const answer = await this.#options.engine.call({ method: 'GET', path })
    if (answer.status === 404) return undefined
    if (isSuccess(answer)) return parsed(answer.text)
    throw new Fault('engine', refusalText(answer))
  }

  #infraImage(): Pick<DockerConfig, 'image' | 'pull'> | undefined {
    const { infraImage, infraPullTimeoutMs: timeoutMs } = this.#options.settings
    if (infraImage === '') return undefined
    const own = { load: undefined, isForced: false, auth: undefined, isAuthSoft: false }
    return { image: parseImageReference(infraImage), pull: { ...own, timeoutMs } }
  }

  #provideImage(wish: ImageWish): Promise<void> {
    const image = this.#infraImage()
    if (image !== undefined) return this.#options.images.ensureStill(image, wish)
    this.#imported ??= this.#import().finally(() => (this.#imported = undefined))
    return this.#imported
  }

  /** Nothing is downloaded for it. */
  async #import(): Promise<void> {
    const archive = Buffer.concat([tarHeader(PLACE_OF_HELPER), TAR_END])
    const answer = await this.#options.engine.call({
      method: 'POST',
      path: '/images/create',
      query: { fromSrc: '-', repo: OWN_IMAGE },
      headers: { 'Content-Type': 'application/x-tar', 'Content-Length': String(archive.length) },
      upload: Readable.from([archive]),
    })
    const failed = textAt(parsed(answer.text.trim().split('\n').at(-1) ?? ''), 'error')
    if (isSuccess(answer) && failed === '') return
    const text = failed === '' ? refusalText(answer) : foreignText(failed)
    throw new Fault('task-start', `the image of pause containers cannot be imported: ${text}`)
  }
}

const PLACE_OF_HELPER = {
  path: HELPER_PATH.slice(1),
  kind: 'file',
  mode: 0o755,
  uid: 0,
  gid: 0,
  size: 0,
  target: '',
} as const

/** Namespaces are equal when their files are. A process that is not there has none. */
async function isSameNamespace(pid: number, namespacePath: string): Promise<boolean> {
  if (pid <= 0) return false
  const [held, wanted] = await Promise.all(
    [`/proc/${pid}/ns/net`, namespacePath].map((path) => stat(path).catch(() => undefined)),
  )
  return held !== undefined && held.ino === wanted?.ino && held.dev === wanted.dev
}

function notJoined(exitCode: number | undefined): Fault {
  const why =
    exitCode === undefined
      ? 'its process is not one of this machine, or it took too long'
      : exitCode === STATUS_NOT_JOINED
        ? 'the container engine does not see the mounts of the agent, or forbids CAP_SYS_ADMIN'
        : `it ended with ${exitCode}`
  return new Fault(
    'task-start',
    `the pause container cannot join the network of the allocation: ${why}. Let agent and ` +
      'container engine share the mounts and processes of the machine, or set network_mode',
  )
}
