import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type {
  DriverHealth,
  Recovery,
  RunningTask,
  OrphanKillingDriver,
  TaskHandle,
  TaskLaunch,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { planCgroups } from '../native/cgroup.ts'
import type { NativeCapabilities, NativeSupervisor } from '../native/native-supervisor.ts'
import { readRawExecConfig, withoutDeniedVariables } from './raw-exec-config.ts'
import { ShellFallbackDriver, resolveWorkDirectory } from './shell-driver.ts'

interface RawExecDriverOptions {
  readonly clock: Clock
  /** Undefined if the host has none. */
  readonly helper?: NativeSupervisor
}

/**
 * Runs programs of the host without isolation: with the native helper if it is available, otherwise
 * with a shell. Each start is recovered by the implementation that made it.
 */
export class RawExecDriver implements OrphanKillingDriver {
  readonly name = 'raw_exec'
  readonly isolation = 'none'
  readonly #shellDriver: ShellFallbackDriver
  readonly #helper: NativeSupervisor | undefined

  constructor(options: RawExecDriverOptions) {
    this.#shellDriver = new ShellFallbackDriver({ clock: options.clock })
    this.#helper = options.helper
  }

  async fingerprint(): Promise<DriverHealth> {
    const health = await this.#shellDriver.fingerprint()
    const capabilities = await this.#capabilities()
    if (!health.detected || capabilities === undefined) return health
    const attributes = { ...health.attributes, 'driver.raw_exec.helper': '1' }
    return { ...health, attributes }
  }

  prewarm(): void {
    this.#helper?.prewarm()
  }

  async shareCores(cores: readonly number[]): Promise<void> {
    await this.#helper?.shareCores(cores)
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const capabilities = await this.#capabilities()
    if (this.#helper === undefined || capabilities === undefined) {
      rejectCorePinning(launch)
      return this.#shellDriver.start(launch)
    }
    const config = readRawExecConfig(launch.config)
    const { command } = config
    const { taskDir, handle, resources, network } = launch
    const started = this.#helper.start({
      launch,
      // Relative paths are below the task directory, whatever the working directory is.
      command: command.includes('/') ? resolve(taskDir, command) : command,
      args: config.args,
      env: withoutDeniedVariables(launch.env, config.deniedVariables),
      cwd: await resolveWorkDirectory(taskDir, config.workDir),
      user: launch.user,
      ...(config.oomScoreAdj === undefined ? {} : { oomScoreAdj: config.oomScoreAdj }),
      ...(network.namespacePath === undefined ? {} : { netns: network.namespacePath }),
      ...planCgroups(capabilities.layout, {
        id: this.#helper.cgroupNameOf(handle),
        resources,
        hasLimits: false,
        hasHardCpuLimit: false,
        pidsMax: 0,
        coreCount: availableParallelism(),
      }),
    })
    return await started.catch((thrown: unknown) => {
      if (!(thrown instanceof Fault)) throw thrown
      // Job authors write paths relative to the task and need not know the host path.
      const message = thrown.message.replaceAll(`${taskDir}/`, '')
      throw new Fault(thrown.kind, message, { cause: thrown })
    })
  }

  async recover(handle: TaskHandle): Promise<Recovery> {
    const helper = this.#helper
    if (helper !== undefined && (await helper.ownsHandle(handle))) return helper.recover(handle)
    return this.#shellDriver.recover(handle)
  }

  async killOrphans(known: ReadonlySet<string>): Promise<void> {
    await this.#helper?.killOrphans(known)
  }

  /** Undefined if the helper is not available; tasks then run with a shell. */
  async #capabilities(): Promise<NativeCapabilities | undefined> {
    return this.#helper?.capabilities().catch(() => undefined)
  }
}

function rejectCorePinning({ resources }: TaskLaunch): void {
  if (resources.cores.length === 0) return
  const message =
    'this node has no task helper and cannot pin a task to cores: use cpu in place of cores'
  throw new Fault('task-unstartable', message)
}
