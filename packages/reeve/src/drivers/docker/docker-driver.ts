import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type {
  DriverAddress,
  DriverHealth,
  Recovery,
  RunningTask,
  TaskDriver,
  TaskHandle,
  TaskLaunch,
} from '../../agent/index.ts'
import { isMissing } from '../../agent/index.ts'
import type { Clock } from '../../kit/clock.ts'
import { Fault, messageOf } from '../../kit/fault.ts'
import { containerSpec, START_LABEL } from './container-spec.ts'
import { readDockerConfig, type DockerConfig } from './docker-config.ts'
import { checkAllowed, type DockerPolicy } from './docker-policy.ts'
import { DockerTask, type ContainerRecord } from './docker-task.ts'
import { Engine, isSuccess, member, parsed, refusalText, textAt } from './engine.ts'
import { checkedBinds, checkedMounts } from './host-paths.ts'
import { Images } from './images.ts'

const RECORD_FILE = 'container.json'
const BOOT_ID = '/proc/sys/kernel/random/boot_id'

/** An engine that cannot say within this whether it is there does not count as healthy. */
const PROBE_MS_MAX = 5_000

export interface DockerDriverOptions {
  readonly clock: Clock
  readonly socketPath: string
  readonly policy: DockerPolicy
  /** Logins by registry, as the engine's own client writes them. */
  readonly authFile?: string
}

/**
 * Runs tasks in containers of an engine that speaks the Engine API. The engine is the supervisor:
 * containers survive the agent, and are found again by a label.
 */
export class DockerDriver implements TaskDriver {
  readonly name = 'docker'
  readonly isolation = 'image'
  readonly #options: DockerDriverOptions
  readonly #engine: Engine
  readonly #images: Images
  #isPodman = false

  constructor(options: DockerDriverOptions) {
    this.#options = options
    this.#engine = new Engine(options.socketPath)
    this.#images = new Images({ engine: this.#engine, authFile: options.authFile })
  }

  async fingerprint(): Promise<DriverHealth> {
    try {
      const version = await this.#ask('/version')
      const info = await this.#ask('/info')
      const components = member(version, 'Components')
      this.#isPodman = JSON.stringify(components ?? '').includes('Podman')
      const attributes = {
        ...engineAttributes(version, info, this.#options.policy),
        ...(await this.#bridgeAddress()),
      }
      return { detected: true, healthy: true, description: 'Healthy', attributes }
    } catch (thrown) {
      return { detected: false, healthy: false, description: messageOf(thrown), attributes: {} }
    }
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const { policy, socketPath, clock } = this.#options
    const config = readDockerConfig(launch.config)
    checkAllowed(config, policy)
    const rules = { launch, allowOutside: policy.allowVolumes, socketPath }
    const binds = await checkedBinds(config, rules)
    const mounts = await checkedMounts(config.storage.mounts, rules)
    const checked = { ...config, storage: { ...config.storage, mounts } }
    const spec = containerSpec({
      launch,
      config: checked,
      policy,
      binds,
      coreCount: availableParallelism(),
      canJoinByPath: this.#isPodman,
    })
    await this.#images.ensure(config, launch.taskDir)
    try {
      const record = await this.#create(launch, config, spec)
      await this.#begin(record.containerId)
      const address = await this.#addressOf(record.containerId, config)
      return new DockerTask({ handle: launch.handle, record, address, engine: this.#engine, clock })
    } catch (thrown) {
      await this.#removeAll(launch.handle).catch(() => undefined)
      await rm(launch.handle.dir, { recursive: true, force: true })
      throw thrown instanceof Fault && thrown.kind === 'engine'
        ? new Fault('task-start', thrown.message, { cause: thrown })
        : thrown
    }
  }

  async recover(handle: TaskHandle): Promise<Recovery> {
    const bootId = (await readFile(BOOT_ID, 'utf8')).trim()
    const [container] = await this.#containersOf(handle)
    const record = await readRecord(handle)
    if (container === undefined && record === undefined) return { kind: 'never-started' }
    if (handle.bootId !== bootId) {
      await this.#removeAll(handle)
      return { kind: 'lost', reason: 'the machine was restarted' }
    }
    if (container === undefined) return { kind: 'lost', reason: 'the container was removed' }
    // Created is not started: nobody is left to start it, and now nobody can.
    if (record === undefined || textAt(container, 'State') === 'created') {
      await this.#removeAll(handle)
      return { kind: 'never-started' }
    }
    const { clock } = this.#options
    const address = await this.#addressOf(record.containerId, undefined).catch(() => undefined)
    const task = new DockerTask({ handle, record, address, engine: this.#engine, clock })
    return { kind: 'attached', task }
  }

  async #ask(path: string): Promise<unknown> {
    const signal = AbortSignal.timeout(PROBE_MS_MAX)
    const answer = await this.#engine.call({ method: 'GET', path, signal })
    if (!isSuccess(answer)) throw new Fault('engine', refusalText(answer))
    return parsed(answer.text)
  }

  /** Of the network that containers are in when they ask for none. */
  async #bridgeAddress(): Promise<Readonly<Record<string, string>>> {
    const network = await this.#ask('/networks/bridge').catch(() => undefined)
    const configs = member(network, 'IPAM', 'Config')
    const gateway = Array.isArray(configs) ? textAt(configs[0], 'Gateway') : ''
    return gateway === '' ? {} : { 'driver.docker.bridge_ip': gateway }
  }

  async #create(
    launch: TaskLaunch,
    config: DockerConfig,
    spec: Readonly<Record<string, unknown>>,
  ): Promise<ContainerRecord> {
    const { handle, logs, resources } = launch
    await mkdir(handle.dir, { recursive: true, mode: 0o700 })
    const containerId = await this.#createContainer(handle, spec)
    // Other log drivers of the engine keep the output where they are told to.
    const isOurLog = config.logging === undefined
    const record: ContainerRecord = {
      containerId,
      logs: isOurLog ? (logs ?? null) : null,
      isTty: config.process.tty,
      hasMemoryLimit: resources.memoryMB > 0,
    }
    await writeFile(join(handle.dir, RECORD_FILE), JSON.stringify(record), { mode: 0o600 })
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

  async #addressOf(
    containerId: string,
    config: DockerConfig | undefined,
  ): Promise<DriverAddress | undefined> {
    const container = await this.#ask(`/containers/${containerId}/json`)
    const networks = member(container, 'NetworkSettings', 'Networks')
    const first: unknown = Object.values(networks ?? {})[0]
    const field = config?.network.isIpv6Advertised === true ? 'GlobalIPv6Address' : 'IPAddress'
    const ip = textAt(first, field) || textAt(container, 'NetworkSettings', field)
    return ip === '' ? undefined : { ip, ports: {} }
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
    for (const container of containers) {
      const path = `/containers/${textAt(container, 'Id')}`
      const query = { force: 'true', v: 'true' }
      const answer = await this.#engine.call({ method: 'DELETE', path, query })
      if (!isSuccess(answer) && answer.status !== 404) {
        throw new Fault('engine', `a container cannot be removed: ${refusalText(answer)}`)
      }
    }
    return containers.length
  }
}

/** What another try would meet again. */
const UNSTARTABLE =
  /executable file|no such file|not found|permission denied|exec format|unable to find user|no matching entries|not a directory/i

async function readRecord(handle: TaskHandle): Promise<ContainerRecord | undefined> {
  try {
    // Written by this driver; the directory is the agent's own.
    return JSON.parse(await readFile(join(handle.dir, RECORD_FILE), 'utf8')) as ContainerRecord
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

/** Reference scheduling §40: what constraints may ask about the engine. */
function engineAttributes(
  version: unknown,
  info: unknown,
  policy: DockerPolicy,
): Readonly<Record<string, string>> {
  const runtimes = Object.keys(member(info, 'Runtimes') ?? {}).toSorted()
  return {
    'driver.docker': '1',
    'driver.docker.version': textAt(version, 'Version'),
    'driver.docker.os_type': textAt(info, 'OSType'),
    'driver.docker.runtimes': runtimes.join(','),
    'driver.docker.privileged.enabled': String(policy.allowPrivileged),
    'driver.docker.volumes.enabled': String(policy.allowVolumes),
  }
}
