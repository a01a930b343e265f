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

export interface RawExecDriverOptions {
  readonly clock: Clock
  /** Absent: this machine has none. */
  readonly helper?: NativeSupervisor
}

/**
 * Runs a program of the machine as it is, without isolation: under the native helper where that
 * runs, else under a shell. Each start is found again by the one that made it.
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
      // A path is one of the task's own directory, wherever it works.
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
      // The author of a job wrote the path as one of the task, and need not know where that is.
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

  /** Undefined where the helper does not run: tasks run all the same. */
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
