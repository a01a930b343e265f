import { lchown, lstat, mkdir, readFile } from 'node:fs/promises'
import { availableParallelism, hostname } from 'node:os'
import { join } from 'node:path'
import { pid } from 'node:process'
import {
  HOST_NETWORK,
  NO_JOB,
  readHostAccounts,
  withDeadline,
  type DriverHealth,
  type HostUser,
  type Recovery,
  type RunningTask,
  type SweepingDriver,
  type TaskHandle,
  type TaskLaunch,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { planCgroups } from '../native/cgroup-plan.ts'
import type { NativeFacts, NativeRuntime } from '../native/native-runtime.ts'
import { hostnameOf, rootEntries, type HostTexts } from '../native/isolation.ts'
import type { TaskPlan } from '../native/task-spec.ts'
import { DEFAULT_CAPS, grantedCaps } from '../settings/capabilities.ts'
import { readExecConfig, type ExecConfig } from './exec-config.ts'
import { taskAccount, type AccountPolicy, type TaskAccount } from './task-account.ts'

/** Who a task is that asks to be nobody in particular. */
const DEFAULT_USER = 'nobody'

/** How long a trial task may take. */
const TRIAL_MS_MAX = 10_000

/** What isolated tasks may do on this node. */
export interface ExecPolicy extends AccountPolicy {
  /** Capabilities that tasks may have; `all` is any. */
  readonly allowCaps: readonly string[]
  /** Who a task is that does not say; `nobody` unless given. */
  readonly defaultUser?: string
  /** Sharing the machine's processes or memory segments. */
  readonly allowHostNamespaces: boolean
  /** Processor time is a limit and not only a weight. */
  readonly isCpuHard: boolean
  readonly pidsMax: number
  /** Paths of the machine that tasks see, in place of the usual ones: host path to path. */
  readonly chrootEnv: Readonly<Record<string, string>> | undefined
}

export interface ExecDriverOptions {
  readonly clock: Clock
  readonly helper: NativeRuntime
  readonly policy: ExecPolicy
  /** For the trial task. */
  readonly stateDir: string
}

/** Runs programs of the machine in a world of their own: files, processes, user, limits. */
export class ExecDriver implements SweepingDriver {
  readonly name = 'exec'
  readonly isolation = 'chroot'
  readonly defaultUser: string
  readonly #options: ExecDriverOptions
  #wasTried = false

  constructor(options: ExecDriverOptions) {
    this.#options = options
    this.defaultUser = options.policy.defaultUser ?? DEFAULT_USER
  }

  async fingerprint(): Promise<DriverHealth> {
    const { helper, policy } = this.#options
    try {
      const facts = await helper.facts()
      if (facts.uid !== 0) throw new Fault('task-unstartable', 'isolation needs an agent of root')
      if (facts.isolationTrouble !== '') throw new Fault('task-unstartable', facts.isolationTrouble)
      // Really starting something is worth a process once, not every half minute.
      if (!this.#wasTried) await this.#trial()
      this.#wasTried = true
      const attributes = {
        'driver.exec': '1',
        'driver.exec.helper': '1',
        'driver.exec.seccomp': facts.hasSeccomp ? '1' : '0',
        'driver.exec.cgroup': facts.layout.kind,
        'driver.exec.caps': policy.allowCaps.join(','),
      }
      return { detected: true, healthy: true, description: 'Healthy', attributes }
    } catch (thrown) {
      return { detected: false, healthy: false, description: errorMessage(thrown), attributes: {} }
    }
  }

  expectStart(): void {
    this.#options.helper.expectStart()
  }

  shareCores(cores: readonly number[]): Promise<void> {
    return this.#options.helper.shareCores(cores)
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const { helper } = this.#options
    const config = readExecConfig(launch.config)
    const account = await this.#accountOf(launch)
    const plan = this.#plan({ launch, config, account }, await helper.facts(), await hostTexts())
    if (launch.user === '') await giveDirectories(launch, account)
    return helper.start(plan)
  }

  recover(handle: TaskHandle): Promise<Recovery> {
    return this.#options.helper.recover(handle)
  }

  sweep(known: ReadonlySet<string>): Promise<void> {
    return this.#options.helper.sweep(known)
  }

  async #accountOf({ user }: TaskLaunch): Promise<TaskAccount> {
    const accounts = await readHostAccounts()
    return taskAccount(user === '' ? this.defaultUser : user, accounts, this.#options.policy)
  }

  #plan({ launch, config, account }: PlanInput, facts: NativeFacts, host: HostTexts): TaskPlan {
    const { policy, helper } = this.#options
    if ((config.isPidShared || config.isIpcShared) && !policy.allowHostNamespaces) {
      throw new Fault('task-config', 'pid_mode and ipc_mode "host" are not allowed on this node')
    }
    const { handle, network, resources } = launch
    return {
      launch,
      command: config.command,
      args: config.args,
      env: launch.env,
      cwd: config.workDir ?? '/',
      user: `${account.uid}:${account.gid}`,
      groups: account.groups,
      denyUsers: policy.denyUsers,
      caps: capsOf(account, config, policy),
      seccomp: facts.hasSeccomp,
      isolate: {
        root: join(handle.dir, 'root'),
        hostname: hostnameOf(launch, host),
        pidNamespace: !config.isPidShared,
        ipcNamespace: !config.isIpcShared,
        entries: rootEntries({ launch, user: account, host, chrootEnv: policy.chrootEnv }),
      },
      ...(network.namespacePath === undefined ? {} : { netns: network.namespacePath }),
      ...planCgroups(facts.layout, {
        id: helper.groupOf(handle),
        resources,
        isLimited: true,
        isCpuHard: policy.isCpuHard,
        pidsMax: policy.pidsMax,
        coreCount: availableParallelism(),
      }),
    }
  }

  /** Starts `true` as any task is started. */
  async #trial(): Promise<void> {
    const { clock, stateDir } = this.#options
    const launch = await trialLaunch(join(stateDir, 'trial'))
    const task = await this.start(launch)
    const deadline = { clock, ms: TRIAL_MS_MAX, what: 'a trial task' }
    try {
      const { exitCode } = await withDeadline(task.exited, deadline)
      if (exitCode === 0) return
      throw new Fault('task-start', `a trial task ended with the status ${exitCode}`)
    } finally {
      await task.stop({ signal: 'SIGKILL', timeoutMs: 0 })
      await task.forget()
    }
  }
}

/** With one of these a task becomes root or joins any group, whatever the node denies. */
const IDENTITY_CAPS: readonly string[] = ['setuid', 'setgid']

function capsOf(
  { uid }: TaskAccount,
  { capAdd, capDrop }: ExecConfig,
  { allowCaps }: ExecPolicy,
): readonly string[] {
  // A task that is not root has none unless it asks.
  const base = uid === 0 ? DEFAULT_CAPS : []
  const caps = grantedCaps({ base, add: capAdd, drop: capDrop, allowed: allowCaps })
  const changing = uid === 0 ? [] : caps.filter((name) => IDENTITY_CAPS.includes(name))
  if (changing.length === 0) return caps
  throw new Fault(
    'task-config',
    `cap_add: ${changing.join(' and ')} would let the task become any user or group: only a task ` +
      'of root may have it, where the node allows root (plugin "exec", denied_users)',
  )
}

interface PlanInput {
  readonly launch: TaskLaunch
  readonly config: ExecConfig
  readonly account: TaskAccount
}

let trials = 0

async function trialLaunch(dir: string): Promise<TaskLaunch> {
  trials += 1
  const id = `trial-${pid}-${trials}`
  const [taskDir, allocDir] = [join(dir, 'task'), join(dir, 'alloc')]
  const paths = { localDir: join(taskDir, 'local'), secretsDir: join(taskDir, 'secrets') }
  for (const path of [join(allocDir, 'logs'), join(taskDir, 'tmp'), ...Object.values(paths)]) {
    await mkdir(path, { recursive: true })
  }
  const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
  return {
    handle: { driver: 'exec', id, allocationId: id, task: 'trial', dir: join(dir, id), bootId },
    about: NO_JOB,
    config: { command: 'true' },
    env: { PATH: '/usr/bin:/bin' },
    user: '',
    taskDir,
    allocDir,
    ...paths,
    resources: { cpuMHz: 100, cpuFraction: 1, cores: [], memoryMB: 64, memoryMaxMB: 0 },
    logs: undefined,
    mounts: [],
    network: HOST_NETWORK,
  }
}

async function hostTexts(): Promise<HostTexts> {
  const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')
  const [hosts, resolvConf] = await Promise.all([read('/etc/hosts'), read('/etc/resolv.conf')])
  return { hostname: hostname(), hosts, resolvConf }
}

/** The agent made them for itself, not knowing whose they would be. */
async function giveDirectories(launch: TaskLaunch, user: HostUser): Promise<void> {
  const { taskDir, localDir, secretsDir } = launch
  for (const path of [localDir, secretsDir, join(taskDir, 'tmp')]) {
    const found = await lstat(path)
    if (found.isDirectory() && found.uid === 0) await lchown(path, user.uid, user.gid)
  }
}
