import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type {
  DriverHealth,
  Recovery,
  RunningTask,
  SweepingDriver,
  TaskHandle,
  TaskLaunch,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { planCgroups } from '../native/cgroup-plan.ts'
import type { NativeFacts, NativeRuntime } from '../native/native-runtime.ts'
import { readConfig, withoutDenied } from './config.ts'
import { ShellRawExecDriver, workDirectory } from './shell-driver.ts'

export interface RawExecOptions {
  readonly clock: Clock
  /** Absent: this machine has none. */
  readonly helper?: NativeRuntime
}

/**
 * Runs a program of the machine as it is, without isolation: under the native helper where that
 * runs, else under a shell. Each start is found again by the one that made it.
 */
export class RawExecDriver implements SweepingDriver {
  readonly name = 'raw_exec'
  readonly isolation = 'none'
  readonly #shell: ShellRawExecDriver
  readonly #helper: NativeRuntime | undefined

  constructor(options: RawExecOptions) {
    this.#shell = new ShellRawExecDriver({ clock: options.clock })
    this.#helper = options.helper
  }

  async fingerprint(): Promise<DriverHealth> {
    const health = await this.#shell.fingerprint()
    const facts = await this.#facts()
    if (!health.detected || facts === undefined) return health
    const attributes = { ...health.attributes, 'driver.raw_exec.helper': '1' }
    return { ...health, attributes }
  }

  expectStart(): void {
    this.#helper?.expectStart()
  }

  async shareCores(cores: readonly number[]): Promise<void> {
    await this.#helper?.shareCores(cores)
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const facts = await this.#facts()
    if (this.#helper === undefined || facts === undefined) {
      refuseCores(launch)
      return this.#shell.start(launch)
    }
    const config = readConfig(launch.config)
    const { command } = config
    const { taskDir, handle, resources, network } = launch
    const started = this.#helper.start({
      launch,
      // A path is one of the task's own directory, wherever it works.
      command: command.includes('/') ? resolve(taskDir, command) : command,
      args: config.args,
      env: withoutDenied(launch.env, config.deniedVariables),
      cwd: await workDirectory(taskDir, config.workDir),
      user: launch.user,
      ...(config.oomScoreAdj === undefined ? {} : { oomScoreAdj: config.oomScoreAdj }),
      ...(network.namespacePath === undefined ? {} : { netns: network.namespacePath }),
      ...planCgroups(facts.layout, {
        id: this.#helper.groupOf(handle),
        resources,
        isLimited: false,
        isCpuHard: false,
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
    if (helper !== undefined && (await helper.knows(handle))) return helper.recover(handle)
    return this.#shell.recover(handle)
  }

  async sweep(known: ReadonlySet<string>): Promise<void> {
    await this.#helper?.sweep(known)
  }

  /** Undefined where the helper does not run: tasks run all the same. */
  async #facts(): Promise<NativeFacts | undefined> {
    return this.#helper?.facts().catch(() => undefined)
  }
}

function refuseCores({ resources }: TaskLaunch): void {
  if (resources.cores.length === 0) return
  const why =
    'this node has no task helper and cannot pin a task to cores: use cpu in place of cores'
  throw new Fault('task-unstartable', why)
}
